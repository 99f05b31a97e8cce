// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {BasePermit2Proxy} from './BasePermit2Proxy.sol';
import {Permit2} from './Permit2.sol';

/// Stands in for x402's proxy of `exact` payments by Permit2 on the devnet. Anybody may settle a payment, and it
/// moves exactly the amount that the owner has permitted.
contract ExactPermit2Proxy is BasePermit2Proxy {
    struct Witness {
        address to;
        uint256 validAfter;
    }

    string public constant WITNESS_TYPE_STRING =
        'Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)';
    bytes32 public constant WITNESS_TYPEHASH = keccak256('Witness(address to,uint256 validAfter)');

    function settle(
        Permit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _settleExact(permit, owner, witness, signature);
        emit Settled();
    }

    function settleWithPermit(
        EIP2612Permit calldata permit2612,
        Permit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _approve(permit2612, permit.permitted, owner);
        _settleExact(permit, owner, witness, signature);
        emit SettledWithPermit();
    }

    function _settleExact(
        Permit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        bytes32 witnessHash = keccak256(abi.encode(WITNESS_TYPEHASH, witness.to, witness.validAfter));
        Payment memory payment = Payment(
            owner, witness.to, permit.permitted.amount, witness.validAfter, witnessHash, WITNESS_TYPE_STRING
        );
        _settle(permit, payment, signature);
    }
}

// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {BasePermit2Proxy} from './BasePermit2Proxy.sol';
import {Permit2} from './Permit2.sol';

/// Stands in for x402's proxy of `upto` payments by Permit2 on the devnet. The owner signs a ceiling and names the
/// wallet of the facilitator, and this wallet alone settles, with any amount up to the ceiling.
contract UptoPermit2Proxy is BasePermit2Proxy {
    struct Witness {
        address to;
        address facilitator;
        uint256 validAfter;
    }

    string public constant WITNESS_TYPE_STRING =
        'Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,address facilitator,uint256 validAfter)';
    bytes32 public constant WITNESS_TYPEHASH =
        keccak256('Witness(address to,address facilitator,uint256 validAfter)');

    error AmountExceedsPermitted();
    error UnauthorizedFacilitator();

    function settle(
        Permit2.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _check(permit, amount, witness);
        _settleUpto(permit, amount, owner, witness, signature);
        emit Settled();
    }

    function settleWithPermit(
        EIP2612Permit calldata permit2612,
        Permit2.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _check(permit, amount, witness);
        _approve(permit2612, permit.permitted, owner);
        _settleUpto(permit, amount, owner, witness, signature);
        emit SettledWithPermit();
    }

    function _check(Permit2.PermitTransferFrom calldata permit, uint256 amount, Witness calldata witness)
        private
        view
    {
        require(amount <= permit.permitted.amount, AmountExceedsPermitted());
        require(msg.sender == witness.facilitator, UnauthorizedFacilitator());
    }

    function _settleUpto(
        Permit2.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        bytes32 witnessHash =
            keccak256(abi.encode(WITNESS_TYPEHASH, witness.to, witness.facilitator, witness.validAfter));
        Payment memory payment =
            Payment(owner, witness.to, amount, witness.validAfter, witnessHash, WITNESS_TYPE_STRING);
        _settle(permit, payment, signature);
    }
}

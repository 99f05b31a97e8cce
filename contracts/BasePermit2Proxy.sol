// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Permit2} from './Permit2.sol';

interface IErc2612 {
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;
}

/// The shared half of x402's proxies for Permit2, on the devnet: the owner signs for the proxy as the spender, and
/// names in the witness who is paid. The code keeps nothing between two transactions.
abstract contract BasePermit2Proxy {
    struct EIP2612Permit {
        uint256 value;
        uint256 deadline;
        bytes32 r;
        bytes32 s;
        uint8 v;
    }

    /// Its address on every chain.
    Permit2 public constant PERMIT2 = Permit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);

    bool private transient _isEntered;

    event Settled();
    event SettledWithPermit();
    event EIP2612PermitFailedWithReason(address indexed token, address indexed owner, string reason);
    event EIP2612PermitFailedWithPanic(address indexed token, address indexed owner, uint256 errorCode);
    event EIP2612PermitFailedWithData(address indexed token, address indexed owner, bytes data);

    error InvalidPermit2Address();
    error InvalidDestination();
    error InvalidOwner();
    error InvalidAmount();
    error PaymentTooEarly();
    error Permit2612AmountMismatch();
    error ReentrancyGuardReentrantCall();

    modifier nonReentrant() {
        require(!_isEntered, ReentrancyGuardReentrantCall());
        _isEntered = true;
        _;
        _isEntered = false;
    }

    struct Payment {
        address owner;
        address to;
        uint256 amount;
        uint256 validAfter;
        bytes32 witness;
        string witnessTypeString;
    }

    function _settle(
        Permit2.PermitTransferFrom calldata permit,
        Payment memory payment,
        bytes calldata signature
    ) internal {
        require(payment.amount > 0, InvalidAmount());
        require(payment.owner != address(0), InvalidOwner());
        require(payment.to != address(0), InvalidDestination());
        require(block.timestamp >= payment.validAfter, PaymentTooEarly());
        PERMIT2.permitWitnessTransferFrom(
            permit,
            Permit2.SignatureTransferDetails(payment.to, payment.amount),
            payment.owner,
            payment.witness,
            payment.witnessTypeString,
            signature
        );
    }

    /// Lets Permit2 take what the owner has permitted. A permit that fails only leaves an event, since the allowance
    /// may be there already.
    function _approve(
        EIP2612Permit calldata permit2612,
        Permit2.TokenPermissions calldata permitted,
        address owner
    ) internal {
        require(permit2612.value == permitted.amount, Permit2612AmountMismatch());
        address token = permitted.token;
        try IErc2612(token).permit(
            owner,
            address(PERMIT2),
            permit2612.value,
            permit2612.deadline,
            permit2612.v,
            permit2612.r,
            permit2612.s
        ) {} catch Error(string memory reason) {
            emit EIP2612PermitFailedWithReason(token, owner, reason);
        } catch Panic(uint256 errorCode) {
            emit EIP2612PermitFailedWithPanic(token, owner, errorCode);
        } catch (bytes memory data) {
            emit EIP2612PermitFailedWithData(token, owner, data);
        }
    }
}

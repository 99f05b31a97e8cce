// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {SignatureCheck} from '../SignatureCheck.sol';

/// An honest contract wallet: it stands behind what its owner signed.
/// As the delegate of an account (EIP-7702) it has no owner in that account's storage and then takes the
/// signatures of the account itself.
contract Wallet1271 {
    address public owner;

    constructor(address owner_) {
        owner = owner_;
    }

    receive() external payable {}

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        address signer = owner == address(0) ? address(this) : owner;
        return SignatureCheck.recover(digest, signature) == signer
            ? SignatureCheck.ERC1271_MAGIC
            : bytes4(0xffffffff);
    }
}

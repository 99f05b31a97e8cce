// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Reverts when asked about a signature.
contract RevertingWallet {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        revert('RevertingWallet: no answer');
    }
}

// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Stands behind no signature.
contract RejectingWallet {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return 0xffffffff;
    }
}

// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Accepts every signature, with an answer that is valid but far too long.
contract HugeReturnWallet {
    uint256 private constant DEFAULT_BYTES = 256 * 1024;
    uint256 private _size;

    function setSize(uint256 bytes_) external {
        _size = bytes_;
    }

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        uint256 size = _size == 0 ? DEFAULT_BYTES : _size;
        assembly {
            mstore(0, shl(224, 0x1626ba7e))
            return(0, size)
        }
    }
}

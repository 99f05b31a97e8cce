// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Imitates the second log of Arc: each movement of the native coin appears once more at
/// 0xffff…fffe, in 18 decimals (EIP-7708).
contract NativeTransferLog {
    event Transfer(address indexed from, address indexed to, uint256 value);

    /// Takes `value` in the token's 6 decimals.
    function log(address from, address to, uint256 value) external {
        emit Transfer(from, to, value * 1e12);
    }
}

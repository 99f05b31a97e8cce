// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Accepts every signature until somebody asks it, or it was set up, to change its mind: between a verify and a settle.
contract TwoFacedWallet {
    // Zero storage accepts, so that the code also works where it is placed without a constructor.
    bool private _rejects;
    uint256 private _acceptsUntilBlock;

    function setAnswer(bool accepts) external {
        _rejects = !accepts;
    }

    /// Accepts up to and in this block, then no more; 0 takes that back.
    function lieAfterBlock(uint256 blockNumber) external {
        _acceptsUntilBlock = blockNumber;
    }

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        bool isLate = _acceptsUntilBlock != 0 && block.number > _acceptsUntilBlock;
        return _rejects || isLate ? bytes4(0xffffffff) : bytes4(0x1626ba7e);
    }
}

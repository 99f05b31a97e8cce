// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MockStablecoin} from './MockStablecoin.sol';

/// Stands in for USDC on Base, whose name is another one than on Arc, in tests with two chains.
contract MockBaseUsdc is MockStablecoin layout at erc7201('arcus.devnet.MockBaseUsdc') {
    function name() public pure override returns (string memory) {
        return 'USD Coin';
    }

    function currency() external pure override returns (string memory) {
        return 'USD';
    }
}

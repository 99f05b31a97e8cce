// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MockStablecoin} from './MockStablecoin.sol';

/// Stands in for USDC on the devnet.
contract MockUsdc is MockStablecoin layout at erc7201('arcus.devnet.MockUsdc') {
    function name() public pure override returns (string memory) {
        return 'USDC';
    }

    function currency() external pure override returns (string memory) {
        return 'USD';
    }
}

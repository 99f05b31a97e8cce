// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MockStablecoin} from './MockStablecoin.sol';

/// Stands in for EURC on the devnet.
contract MockEurc is MockStablecoin layout at erc7201('arcus.devnet.MockEurc') {
    function name() public pure override returns (string memory) {
        return 'EURC';
    }

    function currency() external pure override returns (string memory) {
        return 'EUR';
    }
}

// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Puts a delegatecall before MockUsdc, as USDC has one, where a measurement of gas should count it.
/// Anybody may change the implementation; place the code, then call `upgradeTo`.
contract MockUsdcProxy {
    /// keccak256('arcus.devnet.MockUsdcProxy.implementation')
    bytes32 private constant SLOT = 0xe2924198379ce7cb4ba103c302a696dad0809d94f5663bac4fd9e936cf4a2835;

    event Upgraded(address indexed implementation);

    function upgradeTo(address implementation) external {
        assembly {
            sstore(SLOT, implementation)
        }
        emit Upgraded(implementation);
    }

    fallback() external {
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), sload(SLOT), 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(ok) { revert(0, returndatasize()) }
            return(0, returndatasize())
        }
    }
}

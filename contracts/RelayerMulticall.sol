// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Many calls in one transaction, for its relayers alone. Payers of `upto` name it as their facilitator, so any of the
/// relayers can settle, and many payments share a transaction. It holds nothing, and nobody can change it.
contract RelayerMulticall {
    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    error NotARelayer();

    /// The call with this hash succeeded. It follows the logs of the call itself.
    event Called(bytes32 indexed callHash);

    mapping(address => bool) public isRelayer;

    constructor(address[] memory relayers) {
        for (uint256 i = 0; i < relayers.length; ++i) isRelayer[relayers[i]] = true;
    }

    /// As Multicall3 has it, but a call that may not fail hands on its own revert.
    function aggregate3(Call3[] calldata calls) external returns (Result[] memory results) {
        if (!isRelayer[msg.sender]) revert NotARelayer();
        uint256 count = calls.length;
        results = new Result[](count);
        for (uint256 i = 0; i < count; ++i) {
            Call3 calldata member = calls[i];
            (bool success, bytes memory returnData) = member.target.call(member.callData);
            if (success) {
                emit Called(keccak256(member.callData));
            } else if (!member.allowFailure) {
                assembly ('memory-safe') {
                    revert(add(returnData, 32), mload(returnData))
                }
            }
            results[i] = Result(success, returnData);
        }
    }
}

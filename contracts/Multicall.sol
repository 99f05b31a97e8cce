// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Many calls in one, behind the interface of Multicall3, for chains that do not have it yet.
contract Multicall {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Call3Value {
        address target;
        bool allowFailure;
        uint256 value;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory returnData) {
        uint256 count = calls.length;
        returnData = new Result[](count);
        for (uint256 i = 0; i < count; ++i) {
            Call3 calldata member = calls[i];
            Result memory result = returnData[i];
            (result.success, result.returnData) = member.target.call(member.callData);
            if (!result.success && !member.allowFailure) _fail();
        }
    }

    function aggregate3Value(Call3Value[] calldata calls)
        external
        payable
        returns (Result[] memory returnData)
    {
        uint256 count = calls.length;
        uint256 spent;
        returnData = new Result[](count);
        for (uint256 i = 0; i < count; ++i) {
            Call3Value calldata member = calls[i];
            Result memory result = returnData[i];
            spent += member.value;
            (result.success, result.returnData) = member.target.call{value: member.value}(member.callData);
            if (!result.success && !member.allowFailure) _fail();
        }
        require(msg.value == spent, 'Multicall3: value mismatch');
    }

    function aggregate(Call[] calldata calls)
        external
        payable
        returns (uint256 blockNumber, bytes[] memory returnData)
    {
        blockNumber = block.number;
        uint256 count = calls.length;
        returnData = new bytes[](count);
        for (uint256 i = 0; i < count; ++i) {
            bool success;
            (success, returnData[i]) = calls[i].target.call(calls[i].callData);
            if (!success) _fail();
        }
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls)
        public
        payable
        returns (Result[] memory returnData)
    {
        uint256 count = calls.length;
        returnData = new Result[](count);
        for (uint256 i = 0; i < count; ++i) {
            Result memory result = returnData[i];
            (result.success, result.returnData) = calls[i].target.call(calls[i].callData);
            if (requireSuccess && !result.success) _fail();
        }
    }

    function tryBlockAndAggregate(bool requireSuccess, Call[] calldata calls)
        public
        payable
        returns (uint256 blockNumber, bytes32 blockHash, Result[] memory returnData)
    {
        blockNumber = block.number;
        // Zero while the block is in the making: a block does not know its own hash.
        blockHash = blockhash(block.number);
        returnData = tryAggregate(requireSuccess, calls);
    }

    function blockAndAggregate(Call[] calldata calls)
        external
        payable
        returns (uint256 blockNumber, bytes32 blockHash, Result[] memory returnData)
    {
        return tryBlockAndAggregate(true, calls);
    }

    function getBlockNumber() external view returns (uint256 blockNumber) {
        return block.number;
    }

    function getBlockHash(uint256 blockNumber) external view returns (bytes32 blockHash) {
        return blockhash(blockNumber);
    }

    function getLastBlockHash() external view returns (bytes32 blockHash) {
        return blockhash(block.number - 1);
    }

    function getCurrentBlockTimestamp() external view returns (uint256 timestamp) {
        return block.timestamp;
    }

    function getCurrentBlockCoinbase() external view returns (address coinbase) {
        return block.coinbase;
    }

    function getCurrentBlockDifficulty() external view returns (uint256 difficulty) {
        return block.prevrandao;
    }

    function getCurrentBlockGasLimit() external view returns (uint256 gaslimit) {
        return block.gaslimit;
    }

    function getBasefee() external view returns (uint256 basefee) {
        return block.basefee;
    }

    function getChainId() external view returns (uint256 chainid) {
        return block.chainid;
    }

    function getEthBalance(address addr) external view returns (uint256 balance) {
        return addr.balance;
    }

    function _fail() private pure {
        revert('Multicall3: call failed');
    }
}

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

    /// transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)
    bytes4 private constant TRANSFER_WITH_AUTHORIZATION = 0xcf092995;

    error NotARelayer();
    /// The payer holds less than the payment moves.
    error PayerIsShort();
    error PayerHasCode();

    /// The call with this hash succeeded. It follows the logs of the call itself.
    event Called(bytes32 indexed callHash);

    mapping(address => bool) public isRelayer;

    constructor(address[] memory relayers) {
        for (uint256 i = 0; i < relayers.length; ++i) isRelayer[relayers[i]] = true;
    }

    /// As Multicall3 has it, but a call that may not fail hands on its own revert, and an authorization by EIP-3009 that
    /// can only fail is not tried: a look at the payer costs a fraction of what the token takes to find out.
    function aggregate3(Call3[] calldata calls) external returns (Result[] memory results) {
        if (!isRelayer[msg.sender]) revert NotARelayer();
        uint256 count = calls.length;
        results = new Result[](count);
        for (uint256 i = 0; i < count; ++i) {
            Call3 calldata member = calls[i];
            bool isAuthorization = bytes4(member.callData) == TRANSFER_WITH_AUTHORIZATION;
            if (isAuthorization) {
                bytes4 problem = _problemOf(member.target, member.callData);
                if (problem != 0) {
                    if (!member.allowFailure) _revertWith(problem);
                    results[i].returnData = abi.encodePacked(problem);
                    continue;
                }
            }
            Result memory result = results[i];
            (result.success, result.returnData) = member.target.call(member.callData);
            if (result.success) {
                // The token's own log names an authorization.
                if (!isAuthorization) emit Called(keccak256(member.callData));
            } else if (!member.allowFailure) {
                bytes memory cause = result.returnData;
                assembly ('memory-safe') {
                    revert(add(cause, 32), mload(cause))
                }
            }
        }
    }

    /// Why a transfer by authorization is not tried, as the selector of an error; 0 where it may succeed. What is read here
    /// is warm for the token afterwards. A nonce that is used needs no look: the token itself refuses it at once.
    function _problemOf(address token, bytes calldata transfer) private view returns (bytes4 problem) {
        bytes4 short = PayerIsShort.selector;
        bytes4 coded = PayerHasCode.selector;
        assembly ('memory-safe') {
            let payer := calldataload(add(transfer.offset, 4))
            // balanceOf(address)
            mstore(0, shl(224, 0x70a08231))
            mstore(4, payer)
            let isRead := staticcall(gas(), token, 0, 36, 0, 32)
            let value := calldataload(add(transfer.offset, 68))
            switch and(isRead, lt(mload(0), value))
            case 0 {
                // Payers with code have a transaction of their own. This one got its code after it was checked.
                if extcodesize(payer) { problem := coded }
            }
            default { problem := short }
        }
    }

    function _revertWith(bytes4 problem) private pure {
        assembly ('memory-safe') {
            mstore(0, problem)
            revert(0, 4)
        }
    }
}

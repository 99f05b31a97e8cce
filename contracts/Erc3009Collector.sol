// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface IErc3009 {
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
    function transfer(address to, uint256 value) external returns (bool);
}

/// Brings a payer's deposit to the settlement contract by his EIP-3009 authorization, on the devnet.
/// The authorization's nonce is made of channel and salt, so a signature fills the channel it was given for and no other.
contract Erc3009Collector {
    /// Where x402 has its settlement contract on every chain.
    address public constant x402BatchSettlement = 0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003;

    error OnlyX402BatchSettlement();
    error SafeERC20FailedOperation(address token);

    /// `data` is abi.encode(uint256 validAfter, uint256 validBefore, uint256 salt, bytes signature).
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data) external {
        require(msg.sender == x402BatchSettlement, OnlyX402BatchSettlement());
        (uint256 validAfter, uint256 validBefore, uint256 salt, bytes memory signature) =
            abi.decode(data, (uint256, uint256, uint256, bytes));
        bytes32 nonce = keccak256(abi.encode(channelId, salt));
        IErc3009(token).receiveWithAuthorization(
            payer, address(this), amount, validAfter, validBefore, nonce, signature
        );
        require(IErc3009(token).transfer(x402BatchSettlement, amount), SafeERC20FailedOperation(token));
    }
}

// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface IIdentity {
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool);
}

/// Stands in for the ERC-8004 reputation registry (v2.0.0) on the devnet: feedback, with the rule on who may give it. Left
/// out: revocations, responses and summaries. It knows the identity registry of the devnet.
contract MockReputationRegistry layout at erc7201('arcus.devnet.MockReputationRegistry') {
    address private constant IDENTITY = 0x8004A169FB4a3325136EB29fA0ceB6D2e539a432;
    int128 private constant MAX_ABS_VALUE = 1e38;

    struct Feedback {
        int128 value;
        uint8 valueDecimals;
        string tag1;
        string tag2;
    }

    mapping(uint256 agentId => mapping(address client => Feedback[])) private _feedback;

    event NewFeedback(
        uint256 indexed agentId,
        address indexed clientAddress,
        uint64 feedbackIndex,
        int128 value,
        uint8 valueDecimals,
        string indexed indexedTag1,
        string tag1,
        string tag2,
        string endpoint,
        string feedbackURI,
        bytes32 feedbackHash
    );

    function getVersion() external pure returns (string memory) {
        return '2.0.0';
    }

    function getIdentityRegistry() external pure returns (address) {
        return IDENTITY;
    }

    /// The sender is the client. The owner and the operators of the agent are refused, and an agent that does not exist reverts.
    function giveFeedback(
        uint256 agentId,
        int128 value,
        uint8 valueDecimals,
        string calldata tag1,
        string calldata tag2,
        string calldata endpoint,
        string calldata feedbackURI,
        bytes32 feedbackHash
    ) external {
        require(valueDecimals <= 18, 'too many decimals');
        require(value >= -MAX_ABS_VALUE && value <= MAX_ABS_VALUE, 'value too large');
        require(!IIdentity(IDENTITY).isAuthorizedOrOwner(msg.sender, agentId), 'Self-feedback not allowed');
        Feedback[] storage given = _feedback[agentId][msg.sender];
        given.push(Feedback(value, valueDecimals, tag1, tag2));
        emit NewFeedback(
            agentId,
            msg.sender,
            uint64(given.length),
            value,
            valueDecimals,
            tag1,
            tag1,
            tag2,
            endpoint,
            feedbackURI,
            feedbackHash
        );
    }

    function getLastIndex(uint256 agentId, address client) external view returns (uint64) {
        return uint64(_feedback[agentId][client].length);
    }

    function readFeedback(uint256 agentId, address client, uint64 index)
        external
        view
        returns (int128 value, uint8 valueDecimals, string memory tag1, string memory tag2, bool isRevoked)
    {
        require(index > 0 && index <= _feedback[agentId][client].length, 'index out of bounds');
        Feedback storage found = _feedback[agentId][client][index - 1];
        return (found.value, found.valueDecimals, found.tag1, found.tag2, false);
    }
}

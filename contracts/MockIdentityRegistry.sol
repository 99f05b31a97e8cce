// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {SignatureCheck} from './SignatureCheck.sol';

/// Stands in for the ERC-8004 identity registry (v2.0.0) on the devnet: its calls and its events, as far as an
/// owner and a directory use them. Left out: the safe transfers of ERC-721 and the upgrade functions.
///
/// Its runtime code is placed at an address, so there is no constructor and no immutable; the storage lies in a
/// namespace of its own (ERC-7201), apart from what a forked registry left there.
contract MockIdentityRegistry layout at erc7201('arcus.devnet.MockIdentityRegistry') {
    string public constant name = 'AgentIdentity';
    string public constant symbol = 'AGENT';

    bytes32 private constant AGENT_WALLET_SET_TYPEHASH =
        keccak256('AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)');
    uint256 private constant MAX_DEADLINE_DELAY = 5 minutes;
    string private constant WALLET_KEY = 'agentWallet';

    struct MetadataEntry {
        string metadataKey;
        bytes metadataValue;
    }

    uint256 private _nextId;
    mapping(uint256 agentId => address) private _owners;
    mapping(address owner => uint256) private _balances;
    mapping(uint256 agentId => address) private _approved;
    mapping(address owner => mapping(address operator => bool)) public isApprovedForAll;
    mapping(uint256 agentId => string) private _uris;
    mapping(uint256 agentId => mapping(string key => bytes)) private _metadata;

    event Registered(uint256 indexed agentId, string agentURI, address indexed owner);
    event MetadataSet(
        uint256 indexed agentId, string indexed indexedMetadataKey, string metadataKey, bytes metadataValue
    );
    event URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy);
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);
    event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId);
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);

    error ERC721NonexistentToken(uint256 tokenId);
    error ERC721IncorrectOwner(address sender, uint256 tokenId, address owner);
    error ERC721InsufficientApproval(address operator, uint256 tokenId);
    error ERC721InvalidReceiver(address receiver);
    error ERC721InvalidApprover(address approver);

    modifier onlyAuthorized(uint256 agentId) {
        require(isAuthorizedOrOwner(msg.sender, agentId), 'Not authorized');
        _;
    }

    function getVersion() external pure returns (string memory) {
        return '2.0.0';
    }

    // Registration

    function register() external returns (uint256 agentId) {
        return _register('', new MetadataEntry[](0));
    }

    function register(string memory agentURI) external returns (uint256 agentId) {
        return _register(agentURI, new MetadataEntry[](0));
    }

    function register(string memory agentURI, MetadataEntry[] memory metadata)
        external
        returns (uint256 agentId)
    {
        return _register(agentURI, metadata);
    }

    function _register(string memory agentURI, MetadataEntry[] memory metadata)
        private
        returns (uint256 agentId)
    {
        agentId = _nextId++;
        _owners[agentId] = msg.sender;
        _balances[msg.sender]++;
        _uris[agentId] = agentURI;
        emit Transfer(address(0), msg.sender, agentId);
        emit Registered(agentId, agentURI, msg.sender);
        _setMetadata(agentId, WALLET_KEY, abi.encodePacked(msg.sender));
        for (uint256 i = 0; i < metadata.length; i++) {
            _requireFreeKey(metadata[i].metadataKey);
            _setMetadata(agentId, metadata[i].metadataKey, metadata[i].metadataValue);
        }
    }

    function tokenURI(uint256 agentId) external view returns (string memory) {
        ownerOf(agentId);
        return _uris[agentId];
    }

    function setAgentURI(uint256 agentId, string calldata newURI) external onlyAuthorized(agentId) {
        _uris[agentId] = newURI;
        emit URIUpdated(agentId, newURI, msg.sender);
    }

    // Metadata; the wallet is kept as one of them, which only the functions below may write

    function getMetadata(uint256 agentId, string memory metadataKey) external view returns (bytes memory) {
        return _metadata[agentId][metadataKey];
    }

    function setMetadata(uint256 agentId, string memory metadataKey, bytes memory metadataValue)
        external
        onlyAuthorized(agentId)
    {
        _requireFreeKey(metadataKey);
        _setMetadata(agentId, metadataKey, metadataValue);
    }

    function _setMetadata(uint256 agentId, string memory key, bytes memory value) private {
        _metadata[agentId][key] = value;
        emit MetadataSet(agentId, key, key, value);
    }

    function _requireFreeKey(string memory key) private pure {
        require(keccak256(bytes(key)) != keccak256(bytes(WALLET_KEY)), 'reserved key');
    }

    // Wallet

    function getAgentWallet(uint256 agentId) external view returns (address) {
        return address(bytes20(_metadata[agentId][WALLET_KEY]));
    }

    /// The new wallet signs that it agrees; the deadline is at most five minutes ahead.
    function setAgentWallet(uint256 agentId, address newWallet, uint256 deadline, bytes calldata signature)
        external
        onlyAuthorized(agentId)
    {
        require(newWallet != address(0), 'bad wallet');
        require(block.timestamp <= deadline, 'expired');
        require(deadline <= block.timestamp + MAX_DEADLINE_DELAY, 'deadline too far');
        bytes32 structHash = keccak256(
            abi.encode(AGENT_WALLET_SET_TYPEHASH, agentId, newWallet, ownerOf(agentId), deadline)
        );
        bytes32 digest = keccak256(abi.encodePacked(hex'1901', _domainSeparator(), structHash));
        require(SignatureCheck.isValidNow(newWallet, digest, signature), 'invalid wallet sig');
        _setMetadata(agentId, WALLET_KEY, abi.encodePacked(newWallet));
    }

    function unsetAgentWallet(uint256 agentId) external onlyAuthorized(agentId) {
        _setMetadata(agentId, WALLET_KEY, '');
    }

    /// Computed at each call: the code does not know beforehand on which chain and where it will stand.
    function _domainSeparator() private view returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
                keccak256('ERC8004IdentityRegistry'),
                keccak256('1'),
                block.chainid,
                address(this)
            )
        );
    }

    // ERC-721

    function ownerOf(uint256 agentId) public view returns (address owner) {
        owner = _owners[agentId];
        if (owner == address(0)) revert ERC721NonexistentToken(agentId);
    }

    function balanceOf(address owner) external view returns (uint256) {
        return _balances[owner];
    }

    function getApproved(uint256 agentId) external view returns (address) {
        ownerOf(agentId);
        return _approved[agentId];
    }

    function isAuthorizedOrOwner(address spender, uint256 agentId) public view returns (bool) {
        address owner = ownerOf(agentId);
        return spender == owner || isApprovedForAll[owner][spender] || spender == _approved[agentId];
    }

    function approve(address to, uint256 agentId) external {
        address owner = ownerOf(agentId);
        if (msg.sender != owner && !isApprovedForAll[owner][msg.sender]) {
            revert ERC721InvalidApprover(msg.sender);
        }
        _approved[agentId] = to;
        emit Approval(owner, to, agentId);
    }

    function setApprovalForAll(address operator, bool approved) external {
        isApprovedForAll[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    /// Clears the wallet: the new owner's agent is not paid where the old one's was.
    function transferFrom(address from, address to, uint256 agentId) external {
        address owner = ownerOf(agentId);
        if (owner != from) revert ERC721IncorrectOwner(from, agentId, owner);
        if (to == address(0)) revert ERC721InvalidReceiver(to);
        if (!isAuthorizedOrOwner(msg.sender, agentId)) {
            revert ERC721InsufficientApproval(msg.sender, agentId);
        }
        delete _approved[agentId];
        _balances[from]--;
        _balances[to]++;
        _owners[agentId] = to;
        _setMetadata(agentId, WALLET_KEY, '');
        emit Transfer(from, to, agentId);
    }

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        // ERC-165, ERC-721 and its metadata.
        return interfaceId == 0x01ffc9a7 || interfaceId == 0x80ac58cd || interfaceId == 0x5b5e139f;
    }
}

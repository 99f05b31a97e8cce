// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {NativeTransferLog} from './NativeTransferLog.sol';
import {SignatureCheck} from './SignatureCheck.sol';

/// Stands in for a stablecoin of Circle on the devnet: the calls, the order of checks and the revert strings of its
/// FiatToken v2.2. Anybody may mint, blocklist and pause.
///
/// The runtime code of each token is placed at an address, on a fork over the real token: so there is no constructor
/// and no immutable, and the storage lies in a namespace of its own (ERC-7201) where nothing is left over.
abstract contract MockStablecoin {
    string public constant version = '2';
    uint8 public constant decimals = 6;

    function name() public pure virtual returns (string memory);

    /// Circle's tokens have one text for both.
    function symbol() external pure returns (string memory) {
        return name();
    }

    function currency() external pure virtual returns (string memory);

    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)'
    );
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        'ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)'
    );
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256('CancelAuthorization(address authorizer,bytes32 nonce)');
    bytes32 public constant PERMIT_TYPEHASH =
        keccak256('Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)');

    /// Where Arc logs each movement of the native coin, in 18 decimals (EIP-7708).
    address private constant NATIVE_LOG = 0xffffFFFfFFffffffffffffffFfFFFfffFFFfFFfE;

    /// One slot, as in FiatToken v2.2.
    struct Account {
        uint248 balance;
        bool isBlacklisted;
    }

    uint256 public totalSupply;
    bool public paused;
    mapping(address => Account) private _accounts;
    mapping(address owner => mapping(address spender => uint256)) public allowance;
    mapping(address owner => uint256) public nonces;
    mapping(address authorizer => mapping(bytes32 nonce => bool)) public authorizationState;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);
    event Mint(address indexed minter, address indexed to, uint256 amount);
    event Blacklisted(address indexed account);
    event UnBlacklisted(address indexed account);
    event Pause();
    event Unpause();

    modifier whenNotPaused() {
        require(!paused, 'Pausable: paused');
        _;
    }

    modifier notBlacklisted(address account) {
        require(!_accounts[account].isBlacklisted, 'Blacklistable: account is blacklisted');
        _;
    }

    // Devnet only: FiatToken gives these to its minters, blacklister and pauser.

    function mint(address to, uint256 amount) external whenNotPaused notBlacklisted(to) returns (bool) {
        require(to != address(0), 'FiatToken: mint to the zero address');
        require(amount <= type(uint248).max - totalSupply, 'FiatToken: mint amount exceeds supply limit');
        totalSupply += amount;
        _accounts[to].balance += uint248(amount);
        emit Mint(msg.sender, to, amount);
        _logTransfer(address(0), to, amount);
        return true;
    }

    function blacklist(address account) external {
        _accounts[account].isBlacklisted = true;
        emit Blacklisted(account);
    }

    function unBlacklist(address account) external {
        _accounts[account].isBlacklisted = false;
        emit UnBlacklisted(account);
    }

    function pause() external {
        paused = true;
        emit Pause();
    }

    function unpause() external {
        paused = false;
        emit Unpause();
    }

    // ERC-20

    function balanceOf(address account) external view returns (uint256) {
        return _accounts[account].balance;
    }

    function isBlacklisted(address account) external view returns (bool) {
        return _accounts[account].isBlacklisted;
    }

    function transfer(address to, uint256 value)
        external
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(to)
        returns (bool)
    {
        _transfer(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value)
        external
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(from)
        notBlacklisted(to)
        returns (bool)
    {
        uint256 allowed = allowance[from][msg.sender];
        require(value <= allowed, 'ERC20: transfer amount exceeds allowance');
        _transfer(from, to, value);
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - value;
        return true;
    }

    function approve(address spender, uint256 value)
        external
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(spender)
        returns (bool)
    {
        _approve(msg.sender, spender, value);
        return true;
    }

    // EIP-712

    /// Computed at each call: the code does not know beforehand on which chain and where it will stand.
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
                keccak256(bytes(name())),
                keccak256(bytes(version)),
                block.chainid,
                address(this)
            )
        );
    }

    // EIP-3009

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        _transferWithAuthorization(
            from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v)
        );
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, signature);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        _receiveWithAuthorization(
            from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v)
        );
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        _receiveWithAuthorization(from, to, value, validAfter, validBefore, nonce, signature);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        _cancelAuthorization(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) external {
        _cancelAuthorization(authorizer, nonce, signature);
    }

    // EIP-2612

    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        _permit(owner, spender, value, deadline, abi.encodePacked(r, s, v));
    }

    function permit(address owner, address spender, uint256 value, uint256 deadline, bytes memory signature)
        external
    {
        _permit(owner, spender, value, deadline, signature);
    }

    function _transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) private whenNotPaused notBlacklisted(from) notBlacklisted(to) {
        bytes32 structHash = keccak256(
            abi.encode(
                TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce
            )
        );
        _useAuthorization(from, validAfter, validBefore, nonce, structHash, signature);
        _transfer(from, to, value);
    }

    function _receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) private whenNotPaused notBlacklisted(from) notBlacklisted(to) {
        require(to == msg.sender, 'FiatTokenV2: caller must be the payee');
        bytes32 structHash = keccak256(
            abi.encode(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce)
        );
        _useAuthorization(from, validAfter, validBefore, nonce, structHash, signature);
        _transfer(from, to, value);
    }

    function _useAuthorization(
        address from,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes32 structHash,
        bytes memory signature
    ) private {
        require(block.timestamp > validAfter, 'FiatTokenV2: authorization is not yet valid');
        require(block.timestamp < validBefore, 'FiatTokenV2: authorization is expired');
        _requireUnused(from, nonce);
        require(_isSigned(from, structHash, signature), 'FiatTokenV2: invalid signature');
        authorizationState[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
    }

    function _cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature)
        private
        whenNotPaused
    {
        _requireUnused(authorizer, nonce);
        bytes32 structHash = keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce));
        require(_isSigned(authorizer, structHash, signature), 'FiatTokenV2: invalid signature');
        authorizationState[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function _permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        bytes memory signature
    ) private whenNotPaused {
        require(deadline >= block.timestamp, 'FiatTokenV2: permit is expired');
        bytes32 structHash =
            keccak256(abi.encode(PERMIT_TYPEHASH, owner, spender, value, nonces[owner]++, deadline));
        require(_isSigned(owner, structHash, signature), 'EIP2612: invalid signature');
        _approve(owner, spender, value);
    }

    function _requireUnused(address authorizer, bytes32 nonce) private view {
        require(
            !authorizationState[authorizer][nonce], 'FiatTokenV2: authorization is used or canceled'
        );
    }

    function _isSigned(address signer, bytes32 structHash, bytes memory signature)
        private
        view
        returns (bool)
    {
        bytes32 digest = keccak256(abi.encodePacked(hex'1901', DOMAIN_SEPARATOR(), structHash));
        return SignatureCheck.isValidNow(signer, digest, signature);
    }

    function _transfer(address from, address to, uint256 value) private {
        require(from != address(0), 'ERC20: transfer from the zero address');
        require(to != address(0), 'ERC20: transfer to the zero address');
        require(value <= _accounts[from].balance, 'ERC20: transfer amount exceeds balance');
        _accounts[from].balance -= uint248(value);
        _accounts[to].balance += uint248(value);
        _logTransfer(from, to, value);
    }

    /// On Arc the token moves the native coin, whose log comes before the token's own.
    function _logTransfer(address from, address to, uint256 value) private {
        if (NATIVE_LOG.code.length > 0) NativeTransferLog(NATIVE_LOG).log(from, to, value);
        emit Transfer(from, to, value);
    }

    function _approve(address owner, address spender, uint256 value) private {
        require(owner != address(0), 'ERC20: approve from the zero address');
        require(spender != address(0), 'ERC20: approve to the zero address');
        allowance[owner][spender] = value;
        emit Approval(owner, spender, value);
    }
}

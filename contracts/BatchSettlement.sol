// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {SignatureCheck} from './SignatureCheck.sol';

interface IToken {
    function balanceOf(address account) external view returns (uint256);
    function transfer(address to, uint256 value) external returns (bool);
}

interface IDepositCollector {
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data) external;
}

/// Stands in for the settlement contract of x402's `batch-settlement` on the devnet: its calls, its EIP-712 typed
/// data, its events and its rules, so that the official packages work against it unchanged.
///
/// A payer fills a channel once and then signs vouchers, each for the total so far. The receiver's side claims
/// them (a matter of accounts), settles (one transfer of all that was claimed) and refunds what was never claimed.
///
/// Its runtime code is placed at an address: no constructor, no immutable, storage in a namespace of its own.
contract BatchSettlement layout at erc7201('arcus.devnet.BatchSettlement') {
    struct ChannelConfig {
        address payer;
        /// Signs the vouchers; zero lets the payer, perhaps a contract wallet, sign them himself.
        address payerAuthorizer;
        address receiver;
        /// Signs claims and refunds.
        address receiverAuthorizer;
        address token;
        uint40 withdrawDelay;
        bytes32 salt;
    }

    struct Channel {
        /// What was put in, less what went back; claims do not lower it.
        uint128 balance;
        uint128 totalClaimed;
    }

    struct Withdrawal {
        uint128 amount;
        uint40 initiatedAt;
    }

    struct Account {
        uint128 totalClaimed;
        uint128 totalSettled;
    }

    struct Voucher {
        ChannelConfig channel;
        uint128 maxClaimableAmount;
    }

    struct VoucherClaim {
        Voucher voucher;
        bytes signature;
        /// The total claimed of the channel from now on.
        uint128 totalClaimed;
    }

    uint40 public constant MIN_WITHDRAW_DELAY = 15 minutes;
    uint40 public constant MAX_WITHDRAW_DELAY = 30 days;

    bytes32 public constant CHANNEL_CONFIG_TYPEHASH = keccak256(
        'ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)'
    );
    bytes32 public constant VOUCHER_TYPEHASH = keccak256('Voucher(bytes32 channelId,uint128 maxClaimableAmount)');
    bytes32 public constant REFUND_TYPEHASH = keccak256('Refund(bytes32 channelId,uint256 nonce,uint128 amount)');
    bytes32 public constant CLAIM_ENTRY_TYPEHASH =
        keccak256('ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)');
    bytes32 public constant CLAIM_BATCH_TYPEHASH = keccak256(
        'ClaimBatch(ClaimEntry[] claims)ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)'
    );

    mapping(bytes32 channelId => Channel) public channels;
    mapping(bytes32 channelId => Withdrawal) public pendingWithdrawals;
    /// Rises with every refund, also with one that finds nothing left to move.
    mapping(bytes32 channelId => uint256) public refundNonce;
    mapping(address receiver => mapping(address token => Account)) public receivers;

    bool private transient _isEntered;

    event ChannelCreated(bytes32 indexed channelId, ChannelConfig config);
    event ChannelClosed(bytes32 indexed channelId, ChannelConfig config);
    event Deposited(bytes32 indexed channelId, address indexed sender, uint128 amount, uint128 newBalance);
    event Claimed(bytes32 indexed channelId, address indexed sender, uint128 claimAmount, uint128 newTotalClaimed);
    event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount);
    event Refunded(bytes32 indexed channelId, address indexed sender, uint128 amount);
    event WithdrawInitiated(bytes32 indexed channelId, uint128 amount, uint40 finalizeAfter);
    event WithdrawFinalized(bytes32 indexed channelId, address indexed sender, uint128 amount);

    error ReentrancyGuardReentrantCall();
    error SafeERC20FailedOperation(address token);
    error ECDSAInvalidSignature();
    error ECDSAInvalidSignatureLength(uint256 length);
    error ECDSAInvalidSignatureS(bytes32 s);
    error InvalidChannel();
    error InvalidCollector();
    error InvalidSignature();
    error InvalidRefundNonce();
    error WithdrawDelayOutOfRange();
    error ZeroDeposit();
    error DepositOverflow();
    error DepositCollectionFailed();
    error EmptyBatch();
    error NotAuthorizedToClaim();
    error NotReceiverAuthorizer();
    error ClaimExceedsCeiling();
    error ClaimExceedsBalance();
    error NotAuthorizedToRefund();
    error ZeroRefund();
    error NothingToWithdraw();
    error WithdrawalAlreadyPending();
    error WithdrawAmountExceedsAvailable();
    error WithdrawalNotPending();
    error WithdrawDelayNotElapsed();
    error NotAuthorizedToFinalizeWithdraw();

    modifier nonReentrant() {
        require(!_isEntered, ReentrancyGuardReentrantCall());
        _isEntered = true;
        _;
        _isEntered = false;
    }

    /// Several calls of this contract as one, all or none.
    function multicall(bytes[] calldata data) external returns (bytes[] memory results) {
        results = new bytes[](data.length);
        for (uint256 i = 0; i < data.length; ++i) {
            (bool ok, bytes memory answer) = address(this).delegatecall(data[i]);
            if (!ok) {
                assembly ('memory-safe') {
                    revert(add(answer, 0x20), mload(answer))
                }
            }
            results[i] = answer;
        }
    }

    // In

    function deposit(ChannelConfig calldata config, uint128 amount, address collector, bytes calldata collectorData)
        external
        nonReentrant
    {
        bool isComplete = config.payer != address(0) && config.receiver != address(0)
            && config.receiverAuthorizer != address(0) && config.token != address(0);
        require(isComplete, InvalidChannel());
        bool isInRange = config.withdrawDelay >= MIN_WITHDRAW_DELAY && config.withdrawDelay <= MAX_WITHDRAW_DELAY;
        require(isInRange, WithdrawDelayOutOfRange());
        require(amount > 0, ZeroDeposit());
        require(collector != address(0), InvalidCollector());

        bytes32 channelId = getChannelId(config);
        Channel storage channel = channels[channelId];
        require(amount <= type(uint128).max - channel.balance, DepositOverflow());
        channel.balance += amount;

        IToken token = IToken(config.token);
        uint256 before = token.balanceOf(address(this));
        IDepositCollector(collector).collect(config.payer, config.token, amount, channelId, collectorData);
        require(token.balanceOf(address(this)) == before + amount, DepositCollectionFailed());

        if (channel.balance == amount && channel.totalClaimed == 0) emit ChannelCreated(channelId, config);
        emit Deposited(channelId, msg.sender, amount, channel.balance);
    }

    // To the receiver

    function claim(VoucherClaim[] calldata voucherClaims) external nonReentrant {
        require(voucherClaims.length > 0, EmptyBatch());
        for (uint256 i = 0; i < voucherClaims.length; ++i) {
            require(_isReceiving(msg.sender, voucherClaims[i].voucher.channel), NotAuthorizedToClaim());
            _claim(voucherClaims[i]);
        }
    }

    /// For anybody to send; one signature of the authorizer that all rows share.
    function claimWithSignature(VoucherClaim[] calldata voucherClaims, bytes calldata authorizerSignature)
        external
        nonReentrant
    {
        require(voucherClaims.length > 0, EmptyBatch());
        address authorizer = voucherClaims[0].voucher.channel.receiverAuthorizer;
        _checkSigned(authorizer, getClaimBatchDigest(voucherClaims), authorizerSignature);
        for (uint256 i = 0; i < voucherClaims.length; ++i) {
            require(voucherClaims[i].voucher.channel.receiverAuthorizer == authorizer, NotReceiverAuthorizer());
            _claim(voucherClaims[i]);
        }
    }

    /// For anybody to send. Moves all that is claimed and not settled yet; without any it does nothing.
    function settle(address receiver, address token) external nonReentrant {
        Account storage account = receivers[receiver][token];
        uint128 due = account.totalClaimed - account.totalSettled;
        if (due == 0) return;
        account.totalSettled = account.totalClaimed;
        _pay(token, receiver, due);
        emit Settled(receiver, token, msg.sender, due);
    }

    // Back to the payer

    function refund(ChannelConfig calldata config, uint128 amount) external nonReentrant {
        require(_isReceiving(msg.sender, config), NotAuthorizedToRefund());
        _refund(getChannelId(config), config, amount);
    }

    function refundWithSignature(
        ChannelConfig calldata config,
        uint128 amount,
        uint256 nonce,
        bytes calldata receiverAuthorizerSignature
    ) external nonReentrant {
        bytes32 channelId = getChannelId(config);
        require(nonce == refundNonce[channelId], InvalidRefundNonce());
        _checkSigned(
            config.receiverAuthorizer, getRefundDigest(channelId, nonce, amount), receiverAuthorizerSignature
        );
        _refund(channelId, config, amount);
    }

    function initiateWithdraw(ChannelConfig calldata config, uint128 amount) external nonReentrant {
        require(_isPaying(msg.sender, config), InvalidChannel());
        require(amount > 0, NothingToWithdraw());
        bytes32 channelId = getChannelId(config);
        Withdrawal storage withdrawal = pendingWithdrawals[channelId];
        require(withdrawal.initiatedAt == 0, WithdrawalAlreadyPending());
        require(amount <= _unclaimed(channels[channelId]), WithdrawAmountExceedsAvailable());
        (withdrawal.amount, withdrawal.initiatedAt) = (amount, uint40(block.timestamp));
        emit WithdrawInitiated(channelId, amount, uint40(block.timestamp) + config.withdrawDelay);
    }

    function finalizeWithdraw(ChannelConfig calldata config) external nonReentrant {
        require(_isPaying(msg.sender, config), NotAuthorizedToFinalizeWithdraw());
        bytes32 channelId = getChannelId(config);
        Withdrawal memory withdrawal = pendingWithdrawals[channelId];
        require(withdrawal.initiatedAt > 0, WithdrawalNotPending());
        uint256 endsAt = uint256(withdrawal.initiatedAt) + config.withdrawDelay;
        require(block.timestamp >= endsAt, WithdrawDelayNotElapsed());
        delete pendingWithdrawals[channelId];

        Channel storage channel = channels[channelId];
        uint128 amount = _atMost(withdrawal.amount, _unclaimed(channel));
        channel.balance -= amount;
        emit WithdrawFinalized(channelId, msg.sender, amount);
        _noteIfClosed(channelId, channel, config);
        if (amount > 0) _pay(config.token, config.payer, amount);
    }

    // EIP-712

    /// The domain, as EIP-5267 reports it.
    function eip712Domain()
        external
        view
        returns (
            bytes1 fields,
            string memory name,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        )
    {
        return (hex'0f', 'x402 Batch Settlement', '1', block.chainid, address(this), bytes32(0), new uint256[](0));
    }

    /// The digest itself, so that the same configuration has another id on another chain.
    function getChannelId(ChannelConfig calldata config) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(CHANNEL_CONFIG_TYPEHASH, config)));
    }

    function getVoucherDigest(bytes32 channelId, uint128 maxClaimableAmount) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(VOUCHER_TYPEHASH, channelId, maxClaimableAmount)));
    }

    function getRefundDigest(bytes32 channelId, uint256 nonce, uint128 amount) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(REFUND_TYPEHASH, channelId, nonce, amount)));
    }

    function getClaimBatchDigest(VoucherClaim[] calldata voucherClaims) public view returns (bytes32) {
        bytes32[] memory entries = new bytes32[](voucherClaims.length);
        for (uint256 i = 0; i < entries.length; ++i) {
            Voucher calldata voucher = voucherClaims[i].voucher;
            entries[i] = keccak256(
                abi.encode(
                    CLAIM_ENTRY_TYPEHASH,
                    getChannelId(voucher.channel),
                    voucher.maxClaimableAmount,
                    voucherClaims[i].totalClaimed
                )
            );
        }
        return _digest(keccak256(abi.encode(CLAIM_BATCH_TYPEHASH, keccak256(abi.encodePacked(entries)))));
    }

    /// Computed at each call: the code does not know beforehand on which chain and where it will stand.
    function _digest(bytes32 structHash) private view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
                keccak256('x402 Batch Settlement'),
                keccak256('1'),
                block.chainid,
                address(this)
            )
        );
        return keccak256(abi.encodePacked(hex'1901', domain, structHash));
    }

    /// A total that was reached before is no mistake: then there is nothing to do, and no signature is looked at.
    function _claim(VoucherClaim calldata row) private {
        ChannelConfig calldata config = row.voucher.channel;
        bytes32 channelId = getChannelId(config);
        Channel storage channel = channels[channelId];
        if (row.totalClaimed <= channel.totalClaimed) return;
        require(row.totalClaimed <= row.voucher.maxClaimableAmount, ClaimExceedsCeiling());
        require(row.totalClaimed <= channel.balance, ClaimExceedsBalance());

        bytes32 digest = getVoucherDigest(channelId, row.voucher.maxClaimableAmount);
        if (config.payerAuthorizer == address(0)) _checkSigned(config.payer, digest, row.signature);
        else require(_recover(digest, row.signature) == config.payerAuthorizer, InvalidSignature());

        uint128 more = row.totalClaimed - channel.totalClaimed;
        channel.totalClaimed = row.totalClaimed;
        receivers[config.receiver][config.token].totalClaimed += more;
        emit Claimed(channelId, msg.sender, more, row.totalClaimed);
    }

    function _refund(bytes32 channelId, ChannelConfig calldata config, uint128 wanted) private {
        require(wanted > 0, ZeroRefund());
        ++refundNonce[channelId];
        Channel storage channel = channels[channelId];
        uint128 amount = _atMost(wanted, _unclaimed(channel));
        if (amount == 0) return;
        channel.balance -= amount;

        // What goes back now need not be withdrawn any more.
        Withdrawal storage withdrawal = pendingWithdrawals[channelId];
        if (amount < withdrawal.amount) withdrawal.amount -= amount;
        else delete pendingWithdrawals[channelId];

        emit Refunded(channelId, msg.sender, amount);
        _noteIfClosed(channelId, channel, config);
        _pay(config.token, config.payer, amount);
    }

    function _noteIfClosed(bytes32 channelId, Channel storage channel, ChannelConfig calldata config) private {
        if (channel.balance == 0 && channel.totalClaimed == 0) emit ChannelClosed(channelId, config);
    }

    function _pay(address token, address to, uint128 amount) private {
        require(IToken(token).transfer(to, amount), SafeERC20FailedOperation(token));
    }

    /// The signer; what can be nobody's signature reverts with what is wrong with it.
    function _recover(bytes32 digest, bytes calldata signature) private pure returns (address signer) {
        require(signature.length == 65, ECDSAInvalidSignatureLength(signature.length));
        bytes32 s = bytes32(signature[32:64]);
        require(uint256(s) <= SignatureCheck.HALF_CURVE_ORDER, ECDSAInvalidSignatureS(s));
        signer = SignatureCheck.tryRecover(digest, signature);
        require(signer != address(0), ECDSAInvalidSignature());
    }

    function _checkSigned(address signer, bytes32 digest, bytes calldata signature) private view {
        bool isSigned = signer.code.length == 0
            ? SignatureCheck.tryRecover(digest, signature) == signer && signer != address(0)
            : SignatureCheck.isValidNow(signer, digest, signature);
        require(isSigned, InvalidSignature());
    }

    function _unclaimed(Channel storage channel) private view returns (uint128) {
        return channel.balance - channel.totalClaimed;
    }

    function _isReceiving(address sender, ChannelConfig calldata config) private pure returns (bool) {
        return sender == config.receiver || sender == config.receiverAuthorizer;
    }

    function _isPaying(address sender, ChannelConfig calldata config) private pure returns (bool) {
        return sender == config.payer || sender == config.payerAuthorizer;
    }

    function _atMost(uint128 wanted, uint128 limit) private pure returns (uint128) {
        return wanted > limit ? limit : wanted;
    }
}

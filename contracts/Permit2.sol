// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface IContractWallet {
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4);
}

interface IPullable {
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// Stands in for Permit2 on the devnet: its transfers by signature with one token, its EIP-712 typed data, its
/// unordered nonces, its errors and the order of its checks. Standing allowances and several tokens in one
/// signature are left out.
///
/// Its runtime code is placed at an address: no constructor, no immutable, storage in a namespace of its own.
contract Permit2 layout at erc7201('arcus.devnet.Permit2') {
    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    bytes4 private constant ERC1271_MAGIC = 0x1626ba7e;
    string private constant TOKEN_PERMISSIONS = 'TokenPermissions(address token,uint256 amount)';
    string private constant SIGNED_FIELDS =
        '(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline';

    /// A nonce is used when bit `nonce & 255` of word `nonce >> 8` is set.
    mapping(address owner => mapping(uint256 word => uint256)) public nonceBitmap;

    event UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask);

    error SignatureExpired(uint256 signatureDeadline);
    error InvalidNonce();
    error InvalidAmount(uint256 maxAmount);
    error InvalidSignatureLength();
    error InvalidSignature();
    error InvalidSigner();
    error InvalidContractSignature();

    function permitTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes calldata signature
    ) external {
        bytes32 typeHash =
            keccak256(abi.encodePacked('PermitTransferFrom', SIGNED_FIELDS, ')', TOKEN_PERMISSIONS));
        bytes32 permitted = _hashPermitted(permit.permitted);
        bytes32 structHash =
            keccak256(abi.encode(typeHash, permitted, msg.sender, permit.nonce, permit.deadline));
        _transfer(permit, transferDetails, owner, structHash, signature);
    }

    /// The caller is the spender that the owner signed for. `witnessTypeString` ends the type of the signed struct.
    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external {
        bytes32 typeHash = keccak256(
            abi.encodePacked('PermitWitnessTransferFrom', SIGNED_FIELDS, ',', witnessTypeString)
        );
        bytes32 permitted = _hashPermitted(permit.permitted);
        bytes32 structHash =
            keccak256(abi.encode(typeHash, permitted, msg.sender, permit.nonce, permit.deadline, witness));
        _transfer(permit, transferDetails, owner, structHash, signature);
    }

    /// Sets the bits of `mask`, so that the caller's signatures with these nonces move nothing any more.
    function invalidateUnorderedNonces(uint256 wordPos, uint256 mask) external {
        nonceBitmap[msg.sender][wordPos] |= mask;
        emit UnorderedNonceInvalidation(msg.sender, wordPos, mask);
    }

    /// Computed at each call: the code does not know beforehand on which chain and where it will stand.
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256('EIP712Domain(string name,uint256 chainId,address verifyingContract)'),
                keccak256('Permit2'),
                block.chainid,
                address(this)
            )
        );
    }

    function _transfer(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 structHash,
        bytes calldata signature
    ) private {
        uint256 amount = transferDetails.requestedAmount;
        require(block.timestamp <= permit.deadline, SignatureExpired(permit.deadline));
        require(amount <= permit.permitted.amount, InvalidAmount(permit.permitted.amount));
        _useNonce(owner, permit.nonce);
        _checkSigned(owner, keccak256(abi.encodePacked(hex'1901', DOMAIN_SEPARATOR(), structHash)), signature);
        _pull(permit.permitted.token, owner, transferDetails.to, amount);
    }

    function _useNonce(address owner, uint256 nonce) private {
        (uint256 word, uint256 bit) = (nonce >> 8, 1 << (nonce & 0xff));
        uint256 used = nonceBitmap[owner][word];
        require(used & bit == 0, InvalidNonce());
        nonceBitmap[owner][word] = used | bit;
    }

    /// An owner with code is asked by ERC-1271 alone, and what the wallet reverts with goes up to the caller.
    function _checkSigned(address owner, bytes32 digest, bytes calldata signature) private view {
        if (owner.code.length > 0) {
            bytes4 answer = IContractWallet(owner).isValidSignature(digest, signature);
            require(answer == ERC1271_MAGIC, InvalidContractSignature());
            return;
        }
        address signer = _recover(digest, signature);
        require(signer != address(0), InvalidSignature());
        require(signer == owner, InvalidSigner());
    }

    /// Takes 65 bytes, or the 64 of EIP-2098. Both halves of the curve pass, as they do in Permit2.
    function _recover(bytes32 digest, bytes calldata signature) private pure returns (address) {
        require(signature.length == 65 || signature.length == 64, InvalidSignatureLength());
        bytes32 r = bytes32(signature[:32]);
        bytes32 s = bytes32(signature[32:64]);
        if (signature.length == 65) return ecrecover(digest, uint8(signature[64]), r, s);
        uint8 v = uint256(s) >> 255 == 0 ? 27 : 28;
        return ecrecover(digest, v, r, bytes32((uint256(s) << 1) >> 1));
    }

    /// A token may return nothing, as some old ones do, but not false.
    function _pull(address token, address from, address to, uint256 amount) private {
        (bool ok, bytes memory answer) =
            token.call(abi.encodeCall(IPullable.transferFrom, (from, to, amount)));
        bool isMoved = ok && (answer.length == 0 || (answer.length >= 32 && uint256(bytes32(answer)) == 1));
        require(isMoved, 'TRANSFER_FROM_FAILED');
    }

    function _hashPermitted(TokenPermissions calldata permitted) private pure returns (bytes32) {
        bytes32 typeHash = keccak256(bytes(TOKEN_PERMISSIONS));
        return keccak256(abi.encode(typeHash, permitted.token, permitted.amount));
    }
}

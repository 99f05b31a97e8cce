// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// The signature rule of FiatToken v2.2, with its revert strings.
library SignatureCheck {
    bytes4 internal constant ERC1271_MAGIC = 0x1626ba7e;
    uint256 internal constant HALF_CURVE_ORDER =
        0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    /// A signer with code is asked by ERC-1271 only, so a plain signature of an account that has
    /// delegated its code (EIP-7702) counts only if the delegate says so.
    function isValidNow(address signer, bytes32 digest, bytes memory signature)
        internal
        view
        returns (bool)
    {
        if (signer.code.length == 0) return recover(digest, signature) == signer;
        (bool ok, bytes memory answer) =
            signer.staticcall(abi.encodeWithSelector(ERC1271_MAGIC, digest, signature));
        return ok && answer.length >= 32 && bytes32(answer) == bytes32(ERC1271_MAGIC);
    }

    /// The signer, or zero where `recover` would revert.
    function tryRecover(bytes32 digest, bytes memory signature) internal pure returns (address) {
        if (signature.length != 65) return address(0);
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ('memory-safe') {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
            v := byte(0, mload(add(signature, 0x60)))
        }
        if (uint256(s) > HALF_CURVE_ORDER) return address(0);
        return ecrecover(digest, v, r, s);
    }

    function recover(bytes32 digest, bytes memory signature) internal pure returns (address signer) {
        require(signature.length == 65, 'ECRecover: invalid signature length');
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ('memory-safe') {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
            v := byte(0, mload(add(signature, 0x60)))
        }
        require(uint256(s) <= HALF_CURVE_ORDER, "ECRecover: invalid signature 's' value");
        require(v == 27 || v == 28, "ECRecover: invalid signature 'v' value");
        signer = ecrecover(digest, v, r, s);
        require(signer != address(0), 'ECRecover: invalid signature');
    }
}

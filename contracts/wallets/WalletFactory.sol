// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Wallet1271} from './Wallet1271.sol';

/// Deploys wallets at addresses known beforehand, as counterfactual accounts (ERC-6492) need.
contract WalletFactory {
    event Deployed(address indexed wallet, address indexed owner, bytes32 salt);

    function predict(address owner, bytes32 salt) public view returns (address) {
        bytes32 codeHash = keccak256(abi.encodePacked(type(Wallet1271).creationCode, abi.encode(owner)));
        bytes32 hash = keccak256(abi.encodePacked(hex'ff', address(this), salt, codeHash));
        return address(uint160(uint256(hash)));
    }

    /// Gives the wallet's address also when it is there already.
    function deploy(address owner, bytes32 salt) external returns (address wallet) {
        wallet = predict(owner, salt);
        if (wallet.code.length > 0) return wallet;
        new Wallet1271{salt: salt}(owner);
        emit Deployed(wallet, owner, salt);
    }
}

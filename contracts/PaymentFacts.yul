// SPDX-License-Identifier: Apache-2.0

// The facts of many payments in one `eth_call` without `to`: creation code that returns data, not a contract.
// Nothing is deployed and no payer's code runs; of a payer only the code size is read.
//
// Appended to this code:  asset (20) | flags (1) | members of 72: payer (20) payTo (20) nonce (32)
//   flags: 1 the token has isBlacklisted(address), 2 it has paused(), 4 the payments go through Permit2
// Answered:  a header of 32 | 64 for each member
//   header: 0x00 | paused (1) | block.timestamp (8) | block.number (8) | zeros (14)
//   member: balanceOf(payer) (32) | what Permit2 may take of it, or zeros (31) | facts (1)
//   facts: 1 each call was answered, 2 nonce used, 4 payer blocklisted, 8 payTo blocklisted, 16 payer has code
//
// The first byte is zero because created code may not begin with 0xEF (EIP-3541). A chain takes at most
// 49,152 bytes of creation code (EIP-3860) and answers at most 24,576 (EIP-170): 383 members.
object "PaymentFacts" {
  code {
    // 0x00-0x43 holds the input of a call, 0x60 its answer, 0x80 the appended arguments, then the answer grows.
    let size := sub(codesize(), datasize("PaymentFacts"))
    codecopy(0x80, datasize("PaymentFacts"), size)
    let asset := shr(96, mload(0x80))
    let flags := byte(20, mload(0x80))
    let member := 0x95
    let end := add(0x80, size)
    let out := end

    let isPaused := 0
    let isAnswered := 1
    if and(flags, 2) {
      mstore(0x00, shl(224, 0x5c975abb)) // paused()
      let word
      isAnswered, word := ask(asset, 0x04)
      isPaused := iszero(iszero(word))
    }
    mstore(out, or(shl(240, isPaused), or(shl(176, timestamp()), shl(112, number()))))
    let next := add(out, 0x20)

    for {} iszero(gt(add(member, 72), end)) { member := add(member, 72) } {
      let payer := shr(96, mload(member))
      let facts := shl(4, iszero(iszero(extcodesize(payer))))

      mstore(0x00, shl(224, 0x70a08231)) // balanceOf(address)
      mstore(0x04, payer)
      let ok, word := ask(asset, 0x24)
      let allOk := and(isAnswered, ok)
      mstore(next, word)

      switch and(flags, 4)
      case 0 {
        mstore(0x00, shl(224, 0xe94a0102)) // authorizationState(address,bytes32)
        mstore(0x04, payer)
        mstore(0x24, mload(add(member, 40)))
        ok, word := ask(asset, 0x44)
        facts := or(facts, shl(1, iszero(iszero(word))))
      }
      default {
        let nonce := mload(add(member, 40))
        mstore(0x00, shl(224, 0x4fe02b44)) // nonceBitmap(address,uint256)
        mstore(0x04, payer)
        mstore(0x24, shr(8, nonce))
        ok, word := ask(PERMIT2(), 0x44)
        facts := or(facts, shl(1, and(1, shr(and(nonce, 0xff), word))))
        allOk := and(allOk, ok)

        mstore(0x00, shl(224, 0xdd62ed3e)) // allowance(address,address)
        mstore(0x04, payer)
        mstore(0x24, PERMIT2())
        ok, word := ask(asset, 0x44)
        // An allowance of more than 31 bytes covers any balance there is.
        if shr(248, word) { word := shr(8, not(0)) }
        facts := or(facts, shl(8, word))
      }
      allOk := and(allOk, ok)

      if and(flags, 1) {
        mstore(0x00, shl(224, 0xfe575a87)) // isBlacklisted(address)
        mstore(0x04, payer)
        ok, word := ask(asset, 0x24)
        allOk := and(allOk, ok)
        facts := or(facts, shl(2, iszero(iszero(word))))

        mstore(0x04, shr(96, mload(add(member, 20))))
        ok, word := ask(asset, 0x24)
        allOk := and(allOk, ok)
        facts := or(facts, shl(3, iszero(iszero(word))))
      }

      mstore(add(next, 0x20), or(facts, allOk))
      next := add(next, 0x40)
    }

    return(out, sub(next, out))

    function PERMIT2() -> at {
      at := 0x000000000022D473030F116dDEE9F6B43aC78BA3
    }

    // A failed or short answer counts as zero. The gas limit keeps one broken call from starving the rest.
    function ask(token, inputSize) -> isOk, answer {
      isOk := staticcall(200000, token, 0x00, inputSize, 0x60, 0x20)
      isOk := and(isOk, gt(returndatasize(), 31))
      if isOk { answer := mload(0x60) }
    }
  }
}

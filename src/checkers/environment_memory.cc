// Labels of memory: loads, stores, atomics and copies.
#include <algorithm>

#include "checkers/environment_checker.h"
#include "checkers/undefined_bits.h"

namespace kernelsmith::checkers {

using vgpu::Instruction;
using vgpu::kWarpSize;
using vgpu::Op;
using vgpu::Operand;
using vgpu::WarpView;

Label EnvironmentChecker::WordAt(WarpView& warp, int lane, uint64_t address) {
  if (address - launch_.shared_window < vgpu::kSharedWindows * vgpu::kSharedWindowSize) {
    const vgpu::SharedPlace place = warp.SharedAt(address);
    const auto block = shared_.find(place.block_number);
    if (!place.exists || block == shared_.end()) return kSameEverywhere;
    const auto word = block->second.find(place.offset / kWord);
    return word == block->second.end() ? kSameEverywhere : word->second;
  }
  if (address - launch_.local_window < vgpu::kLocalWindowSize) {
    const auto& local = Warp(warp).local;
    const auto word =
        local.find(LabelledWarp::LocalKey(lane, (address - launch_.local_window) / kWord));
    return word == local.end() ? kSameEverywhere : word->second;
  }
  const auto word = global_.find(address / kWord);
  return word == global_.end() ? kSameEverywhere : word->second.label;
}

void EnvironmentChecker::SetWordAt(WarpView& warp, int lane, uint64_t address, Label label,
                                   const Instruction& in) {
  const auto set = [&](auto& words, uint64_t key) {
    if (label == kSameEverywhere) {
      words.erase(key);
    } else {
      words[key] = label;
    }
  };
  if (address - launch_.shared_window < vgpu::kSharedWindows * vgpu::kSharedWindowSize) {
    const vgpu::SharedPlace place = warp.SharedAt(address);
    if (place.exists) set(shared_[place.block_number], place.offset / kWord);
  } else if (address - launch_.local_window < vgpu::kLocalWindowSize) {
    set(Warp(warp).local, LabelledWarp::LocalKey(lane, (address - launch_.local_window) / kWord));
  } else if (label == kSameEverywhere) {
    global_.erase(address / kWord);
  } else {
    global_[address / kWord] = {.label = label, .place = StoreAt(warp, in, lane)};
  }
}

void EnvironmentChecker::SetWords(WarpView& warp, int lane, uint64_t address, uint64_t bytes,
                                  Label label, const Instruction& in) {
  for (uint64_t at = address / kWord * kWord; at < address + bytes; at += kWord) {
    const bool part = at < address || at + kWord > address + bytes;
    if (!part) {
      SetWordAt(warp, lane, at, label, in);
      continue;
    }
    const uint8_t origins = labels_.OriginsOf(WordAt(warp, lane, at)) | labels_.OriginsOf(label);
    SetWordAt(warp, lane, at, labels_.Mixed(origins), in);
  }
}

uint8_t EnvironmentChecker::OriginsIn(WarpView& warp, int lane, uint64_t address, uint64_t bytes) {
  uint8_t origins = 0;
  for (uint64_t at = address / kWord * kWord; at < address + bytes; at += kWord) {
    origins |= labels_.OriginsOf(WordAt(warp, lane, at));
  }
  return origins;
}

void EnvironmentChecker::Read(WarpView& warp, const Instruction& in, int lane, uint64_t address,
                              uint32_t bytes) {
  if (in.op == Op::kCpAsync) {
    const uint64_t to =
        async_to_[static_cast<size_t>(lane)] + address - warp.ReadOperand(in.b, lane);
    for (uint64_t at = 0; at < bytes; at += kWord) {
      SetWords(warp, lane, to + at, std::min<uint64_t>(kWord, bytes - at),
               (address + at) % kWord == 0
                   ? WordAt(warp, lane, address + at)
                   : labels_.Mixed(OriginsIn(warp, lane, address + at, kWord)),
               in);
    }
    return;
  }
  if (in.op != Op::kLoad) {
    taken_ |= OriginsIn(warp, lane, address, bytes);
    return;
  }
  TakeWords(warp, lane, address, bytes);
}

void EnvironmentChecker::TakeWords(WarpView& warp, int lane, uint64_t address, uint32_t bytes) {
  auto& words = loaded_[static_cast<size_t>(lane)];
  if (address % kWord != 0 || bytes < kWord) {
    words[0] = labels_.Mixed(OriginsIn(warp, lane, address, bytes));
    return;
  }
  for (size_t i = 0; i < kMostWords && i * kWord < bytes; ++i) {
    words[i] = WordAt(warp, lane, address + i * kWord);
  }
}

Label EnvironmentChecker::LoadedLabel(int lane, uint32_t first, uint32_t bytes, uint64_t value) {
  const auto& words = loaded_[static_cast<size_t>(lane)];
  const size_t word = first / kWord;
  if (bytes < kWord || word + 1 >= kMostWords) {
    return labels_.Mixed(labels_.OriginsOf(words[std::min(word, kMostWords - 1)]));
  }
  if (bytes == kWord) return words[word];
  if (bytes > 8) {
    uint8_t origins = 0;
    for (const Label label : words) origins |= labels_.OriginsOf(label);
    return labels_.Mixed(origins);
  }
  const Label joined =
      labels_.Join({value & 0xffffffff, words[word]}, {value >> 32, words[word + 1]});
  // Addresses that came into memory without our knowledge: those of device malloc.
  if (joined == kSameEverywhere && memory_.InReservedRange(value)) return PointerLabel(value);
  return joined;
}

void EnvironmentChecker::Loaded(WarpView& warp, const Instruction& in, uint32_t mask) {
  const uint32_t count = in.list_count > 0 ? in.list_count : 1;
  for (uint32_t k = 0; k < count; ++k) {
    const Operand target = in.list_count > 0 ? warp.function().list[in.list_first + k] : in.d;
    if (!target.exists()) continue;
    ForEachLane(mask, [&](int lane) {
      const uint64_t value = warp.ReadOperand(target, lane);
      Label label = LoadedLabel(lane, k * in.bytes, in.bytes, value);
      const uint8_t bad = bad_address_[static_cast<size_t>(lane)];
      if (bad != 0) label = labels_.Mixed(bad | labels_.OriginsOf(label));
      Set(target, lane, label);
    });
  }
}

Label EnvironmentChecker::OldLabel(WarpView& warp, const Instruction& in, int lane) {
  return LoadedLabel(lane, 0, in.bytes, warp.ReadOperand(in.d, lane));
}

void EnvironmentChecker::Write(WarpView& warp, const Instruction& in, int lane, uint64_t address,
                               uint32_t bytes) {
  if (in.op != Op::kStore) {
    // Matrices and bulk copies: all that is stored depends on all that goes in.
    uint8_t origins = taken_;
    for (uint32_t k = 0; k < in.list_count; ++k) {
      for (int other = 0; other < kWarpSize; ++other) {
        origins |= OriginsOf(warp, in, warp.function().list[in.list_first + k], other);
      }
    }
    SetWords(warp, lane, address, bytes, labels_.Mixed(origins), in);
    return;
  }
  const uint32_t count = in.list_count > 0 ? in.list_count : 1;
  const uint32_t element = bytes / count;
  for (uint32_t k = 0; k < count; ++k) {
    const Operand source = in.list_count > 0 ? warp.function().list[in.list_first + k] : in.b;
    Labelled value = Operand1(warp, in, source, lane);
    const uint64_t at = address + uint64_t{k} * element;
    if (element == 8 && at % kWord == 0) {
      SetWordAt(warp, lane, at, labels_.LowHalf(value), in);
      SetWordAt(warp, lane, at + kWord, labels_.HighHalf(value), in);
    } else {
      // Part of a register: of an address the bytes of its low bits are the same everywhere.
      if (element < kWord && value.label != kSameEverywhere) {
        const uint64_t varies =
            SmearUp(labels_.VariesOf(value.label)) & ((uint64_t{1} << (8 * element)) - 1);
        value.label = labels_.Opaque(labels_.OriginsOf(value.label), varies);
      }
      SetWords(warp, lane, at, element,
               element > 8 ? labels_.Mixed(labels_.OriginsOf(value.label)) : value.label, in);
    }
  }
}

void EnvironmentChecker::Atomic(WarpView& warp, const Instruction& in, int lane, uint64_t address,
                                uint32_t bytes) {
  if (in.op == Op::kMbarrier) return;
  TakeWords(warp, lane, address, bytes);
  const bool exchange =
      in.op == Op::kAtom && in.variant == static_cast<uint8_t>(vgpu::AtomicOp::kExch);
  if (exchange) {
    Labelled value = Operand1(warp, in, in.b, lane);
    if (bytes == 8 && address % kWord == 0) {
      SetWordAt(warp, lane, address, labels_.LowHalf(value), in);
      SetWordAt(warp, lane, address + kWord, labels_.HighHalf(value), in);
    } else {
      SetWords(warp, lane, address, bytes, value.label, in);
    }
    return;
  }
  uint8_t origins = taken_ | OriginsIn(warp, lane, address, bytes);
  for (const Operand operand : {in.b, in.c, in.e}) origins |= OriginsOf(warp, in, operand, lane);
  for (uint32_t k = 0; k < in.list_count; ++k) {
    origins |= OriginsOf(warp, in, warp.function().list[in.list_first + k], lane);
  }
  if (origins != 0) SetWords(warp, lane, address, bytes, labels_.Mixed(origins), in);
}

void EnvironmentChecker::Forget(uint64_t address, uint64_t bytes) {
  if (global_.empty() || bytes == 0) return;
  global_.erase(global_.lower_bound(address / kWord),
                global_.lower_bound((address + bytes + kWord - 1) / kWord));
}

}  // namespace kernelsmith::checkers

// The race checker's part that hears of synchronisation: barriers, fences, asynchronous copies.
#include <bit>

#include "checkers/race_state.h"

namespace kernelsmith::checkers {

namespace {

constexpr uint32_t kLanes = 32;

}  // namespace

// The bytes of an asynchronous copy are there; `stamp`: as if written at that time.
void RaceChecker::Arrived(BlockState& home, const SharedCopy& copy, std::optional<uint32_t> stamp) {
  for (uint32_t at = copy.offset; at < copy.offset + copy.bytes;) {
    Page& page = *home.shared[at / kPageBytes];
    Entry& write = page.cells[(at % kPageBytes) >> page.shift].write;
    if ((write.who & Entry::kPending) != 0 && write.thread() == copy.thread &&
        write.site == copy.site) {
      if (stamp) write.stamp = *stamp;
      write.who &= static_cast<uint16_t>(~Entry::kPending);
    }
    at += 1u << page.shift;
  }
}

void RaceChecker::OnBarrier(vgpu::WarpView& warp, const vgpu::BarrierEvent& event) {
  BlockState& state = StateOf(warp.block_number());
  launch_->order->Arrive(*state.order, warp.warp_in_block(), event.barrier, event.mask,
                         event.kind != vgpu::BarrierEvent::Kind::kArrive);
}

void RaceChecker::OnBarrierReleased(uint64_t block_number, uint32_t barrier) {
  BlockState& state = StateOf(block_number);
  launch_->order->Release(*state.order, barrier, state.live);
}

void RaceChecker::OnFence(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) {
  const ptx::Instruction* syntax = warp.function().locations[in.location].syntax;
  if (syntax != nullptr && syntax->opcode() == ptx::Opcode::kGriddepcontrol) {
    // One thread that waits for the kernel before it is enough for a block that it tells.
    StateOf(warp.block_number()).waited = true;
    return;
  }
  BlockState& state = StateOf(warp.block_number());
  if (syntax != nullptr && syntax->opcode() == ptx::Opcode::kFenceProxy) {
    state.proxy_fence = StampOf(state);
  }
  const RaceSite& site = SiteOf(warp, in);
  if (site.ignored) return;
  launch_->order->Fence(*state.order, warp.warp_in_block(), mask, site.scope);
}

// A bulk copy goes by another way to memory than loads and stores: what threads of the block have
// stored it sees only behind fence.proxy.async. Whoever made one since is taken to have made it for
// all of them.
void RaceChecker::CheckProxy(const Actor& actor, const Cell& cell) {
  for (const Entry& entry : {cell.write, cell.other_write}) {
    if (entry.stamp <= stamp_base_ || sites_[entry.site]->bulk) continue;
    const Stamp& stamp = stamps_[entry.stamp - 1 - stamp_base_];
    if (stamp.launch != launch_->number || stamp.block != actor.block.order->number ||
        actor.block.proxy_fence >= entry.stamp ||
        !without_fence_.emplace(launch_->id, actor.access.instruction).second) {
      continue;
    }
    sink().Add({.kind = FindingKind::kRace,
                .severity = DefaultSeverity(FindingKind::kRace),
                .space = actor.shared ? Space::kShared : Space::kGlobal,
                .place = PlaceOf(launch_->kernel, actor.warp, *actor.access.instruction,
                                 static_cast<int>(actor.lane)),
                .message = "a bulk copy reads what threads of its block have stored, and no "
                           "fence.proxy.async (cde::fence_proxy_async_shared_cta) stands between",
                .address = actor.address,
                .other = PlaceOfEntry(entry),
                .other_message = "stored here"});
  }
}

void RaceChecker::OnWarpBarrier(vgpu::WarpView& warp, uint32_t lanes) {
  BlockState& state = StateOf(warp.block_number());
  const uint32_t index = warp.warp_in_block();
  launch_->order->SyncLanes(*state.order, index, lanes, state.live[index]);
}

void RaceChecker::OnExit(vgpu::WarpView& warp, uint32_t mask) {
  StateOf(warp.block_number()).live[warp.warp_in_block()] &= ~mask;
}

void RaceChecker::OnClusterArrive(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask,
                                  uint32_t phase) {
  BlockState& state = StateOf(warp.block_number());
  const ptx::Instruction* syntax = warp.function().locations[in.location].syntax;
  const bool relaxed = syntax != nullptr && syntax->mnemonic->semantics == ptx::Semantics::kRelaxed;
  launch_->order->ClusterArrive(*state.order, warp.warp_in_block(), mask,
                                launch_->ClusterOf(warp.block_number()), phase, !relaxed);
}

void RaceChecker::OnClusterEnded(vgpu::WarpView& warp, uint32_t mask, uint32_t phase) {
  BlockState& state = StateOf(warp.block_number());
  launch_->order->ClusterEnded(*state.order, warp.warp_in_block(), mask,
                               launch_->ClusterOf(warp.block_number()), phase);
}

uint64_t RaceChecker::SharedKeyAt(vgpu::WarpView& warp, uint64_t address) const {
  const uint64_t offset = address - memory_.shared_window();
  if (offset < vgpu::kSharedWindowSize) return SharedKey(warp.block_number(), offset);
  const vgpu::SharedPlace place = warp.SharedAt(address);
  return SharedKey(place.block_number, place.offset);
}

void RaceChecker::OnMbarrierEnded(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) {
  if (launch_->order->quiet()) return;
  BlockState& state = StateOf(warp.block_number());
  for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint64_t key = SharedKeyAt(warp, access.address[lane]);
    // Only a block's own barriers can be waited at.
    const auto offset = static_cast<uint32_t>(access.address[lane] - memory_.shared_window());
    if (const auto copies = state.bulk.find(offset); copies != state.bulk.end()) {
      for (const SharedCopy& copy : copies->second) Arrived(state, copy);
      state.bulk.erase(copies);
    }
    launch_->order->StrongRead(*state.order, warp.warp_in_block() * kLanes + lane, key,
                               SyncScope::kDevice, true);
  }
}

void RaceChecker::OnAsyncGroup(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) {
  BlockState& state = StateOf(warp.block_number());
  const auto op = static_cast<vgpu::AsyncOp>(access.instruction->variant);
  for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint32_t thread = warp.warp_in_block() * kLanes + lane;
    if (const auto it = state.copies.find(thread); it != state.copies.end()) {
      BlockState::Copies& copies = it->second;
      if (op == vgpu::AsyncOp::kWait) {
        CompleteCopies(state, thread, static_cast<size_t>(access.instruction->offset));
        continue;
      }
      copies.groups.push_back(std::move(copies.open));
      copies.open.clear();
      if (op != vgpu::AsyncOp::kCommit) CompleteCopies(state, thread, 0);
    }
    if (op == vgpu::AsyncOp::kArrive) {
      const uint64_t key = SharedKeyAt(warp, access.address[lane]);
      launch_->order->StrongWrite(*state.order, thread, key, SyncScope::kBlock, true, true);
    }
  }
}

// Copies become ordinary writes of the thread that waited for them; the last `leave` groups stay.
void RaceChecker::CompleteCopies(BlockState& state, uint32_t thread, size_t leave) {
  BlockState::Copies& copies = state.copies[thread];
  while (copies.groups.size() > leave) {
    for (const auto& copy : copies.groups.front()) Arrived(state, copy, StampOf(state));
    copies.groups.pop_front();
  }
}

}  // namespace kernelsmith::checkers

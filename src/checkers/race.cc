#include "checkers/race.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <tuple>

namespace kernelsmith::checkers {

using vgpu::AccessKind;
using vgpu::Op;

namespace {

constexpr uint32_t kLanes = 32;
// Entries name sites by 16 bits.
constexpr size_t kMaxSites = 0xffff;

vgpu::Dim3 Unflatten(uint64_t number, const vgpu::Dim3& extent) {
  return {static_cast<uint32_t>(number % extent.x),
          static_cast<uint32_t>(number / extent.x % extent.y),
          static_cast<uint32_t>(number / extent.x / extent.y)};
}

// Could a loop contain the instruction? Then it may be waiting for another thread.
bool IsInLoop(const vgpu::Function& function, const vgpu::Instruction& in) {
  const auto at = static_cast<uint32_t>(&in - function.code.data());
  for (uint32_t pc = at; pc < function.code.size(); ++pc) {
    const vgpu::Instruction& other = function.code[pc];
    if (other.op == Op::kBra && other.target <= at) return true;
    if (other.op != Op::kBrxIdx) continue;
    for (const uint32_t target : function.branch_targets[other.target]) {
      if (target <= at) return true;
    }
  }
  return false;
}

// The first guess of a loop with compare-and-swap may be stale or torn, the swap finds out: CUDA's
// guide makes other atomics from atomicCAS by `old = *address`.
bool IsGuessOfSwap(const vgpu::Function& function, const vgpu::Instruction& load) {
  std::vector<vgpu::Operand> holders{load.d};  // registers with the value
  const auto holds = [&](vgpu::Operand operand) {
    return operand.exists() && std::find(holders.begin(), holders.end(), operand) != holders.end();
  };
  for (const vgpu::Instruction* in = &load + 1;
       !holders.empty() && in < function.code.data() + function.code.size(); ++in) {
    if (in->op == Op::kAtom && static_cast<vgpu::AtomicOp>(in->variant) == vgpu::AtomicOp::kCas &&
        in->bytes == load.bytes && holds(in->b)) {
      return true;
    }
    if (in->op == Op::kMov && holds(in->a)) {
      holders.push_back(in->d);
    } else {
      std::erase(holders, in->d);
    }
  }
  return false;
}

}  // namespace

// What the checker needs to know of an instruction.
struct RaceChecker::Site {
  uint16_t id = 0;
  Place place;           // without block and thread
  bool ignored = false;  // memory that nobody writes
  bool reads = false;
  bool writes = false;
  bool is_atomic = false;
  bool acquires = false;
  bool releases = false;
  bool in_loop = false;
  SyncScope scope = SyncScope::kDevice;
  uint16_t flags = 0;  // Entry::who without the thread
};

struct RaceChecker::BlockState {
  struct Copies {
    struct Copy {
      uint32_t offset = 0;
      uint32_t bytes = 0;
      uint16_t site = 0;
    };
    std::deque<std::vector<Copy>> groups;
    std::vector<Copy> open;
  };

  LaunchOrder::Block* order = nullptr;
  std::vector<uint32_t> live;  // lanes of each warp
  std::vector<std::unique_ptr<Page>> shared;
  std::map<uint32_t, Copies> copies;  // by thread
};

struct RaceChecker::Launch {
  Launch(const vgpu::LaunchInfo& info, uint32_t number)
      : id(info.id),
        number(number),
        operation(info.operation),
        kernel(info.kernel),
        grid(info.grid),
        block(info.block),
        threads(static_cast<uint32_t>(info.block.Count())),
        order(std::make_unique<LaunchOrder>(threads)) {}

  uint64_t id;
  uint32_t number;
  uint64_t operation;
  OperationSet before;
  std::string kernel;
  vgpu::Dim3 grid;
  vgpu::Dim3 block;
  uint32_t threads;
  uint32_t own_stamp = 1;  // its own begin here
  // Entries below are of launches that ended before this one began.
  uint32_t first_stamp = 1;
  std::unique_ptr<LaunchOrder> order;  // null once ended
  std::map<uint64_t, BlockState> blocks;
  uint64_t recent_number = 0;
  BlockState* recent = nullptr;
};

// The thread whose access is looked at.
struct RaceChecker::Actor {
  vgpu::WarpView& warp;
  const vgpu::MemoryAccess& access;
  const Site& site;
  BlockState& block;
  Entry me;
  uint32_t lane = 0;
  uint32_t thread = 0;
  bool shared = false;
  uint64_t address = 0;  // of the cell
  uint32_t cell_bytes = 4;
};

struct RaceChecker::Race {
  Finding finding;
  std::array<uint32_t, 4> key;
};

RaceChecker::RaceChecker(FindingSink& sink, const vgpu::DeviceMemory& memory)
    : Checker(sink), memory_(memory) {
  sites_.push_back(std::make_unique<Site>());  // 0: one too many
}

RaceChecker::~RaceChecker() = default;

// -- launches and blocks

void RaceChecker::OnLaunchBegin(const vgpu::LaunchInfo& info) {
  const bool settled = std::all_of(launches_.begin(), launches_.end(), [&](const auto& l) {
    return l->order == nullptr && (l->operation == 0 || operations_.IsSettled(l->operation));
  });
  if (settled) {
    // Nothing that comes can race with what was: entries below `stamp_base_` count no more.
    stamp_base_ += static_cast<uint32_t>(stamps_.size());
    stamps_.clear();
    launches_.clear();
    if (sites_.size() > kMaxSites / 2 || stamp_base_ > uint32_t{1} << 31) {
      sites_.resize(1);
      stamp_base_ = 0;
      global_.Clear();
      shared_pages_ = {};
    }
  }
  site_of_.clear();
  launches_.push_back(std::make_unique<Launch>(info, static_cast<uint32_t>(launches_.size())));
  launch_ = launches_.back().get();
  launch_->own_stamp = stamp_base_ + static_cast<uint32_t>(stamps_.size()) + 1;
  launch_->first_stamp = launch_->own_stamp;
  if (launch_->operation == 0) return;
  launch_->before = operations_.Before(launch_->operation);
  // As long as something earlier may overlap, its entries must be looked at.
  for (const auto& other : launches_) {
    // Nodes of a graph run as one operation, in an order that the graph allows; races between its
    // branches are not seen.
    if (other->operation == 0 || other->operation == launch_->operation ||
        launch_->before.Contains(other->operation)) {
      continue;
    }
    launch_->first_stamp = other->own_stamp;
    break;
  }
}

void RaceChecker::OnLaunchEnd(const vgpu::Fault*) {
  if (launch_ == nullptr) return;
  launch_->blocks.clear();
  launch_->recent = nullptr;
  launch_->order = nullptr;
  for (Race& race : races_) {
    if (race.finding.kind == FindingKind::kRaceSameValue) {
      // Where different values were written as well, that is the finding.
      std::array<uint32_t, 4> worse = race.key;
      worse[2] = static_cast<uint32_t>(FindingKind::kRace);
      if (race_of_.contains(worse)) continue;
    }
    sink().Add(std::move(race.finding));
  }
  races_.clear();
  race_of_.clear();
  launch_ = nullptr;
}

void RaceChecker::OnResume(uint64_t launch_id) {
  if (launch_ != nullptr && launch_->id == launch_id) return;
  for (auto it = launches_.rbegin(); it != launches_.rend(); ++it) {
    if ((*it)->id != launch_id) continue;
    launch_ = it->get();
    return;
  }
}

void RaceChecker::OnBlockBegin(uint64_t number) {
  BlockState& state = launch_->blocks[number];
  state.order = &launch_->order->BeginBlock(static_cast<uint32_t>(number));
  const uint32_t warps = (launch_->threads + kLanes - 1) / kLanes;
  state.live.assign(warps, 0xffffffff);
  if (const uint32_t rest = launch_->threads % kLanes; rest != 0)
    state.live.back() = (1u << rest) - 1;
}

void RaceChecker::OnBlockEnd(uint64_t number) {
  const auto it = launch_->blocks.find(number);
  if (it == launch_->blocks.end()) return;
  for (auto& page : it->second.shared) shared_pages_.Return(std::move(page));
  launch_->order->EndBlock(static_cast<uint32_t>(number));
  launch_->blocks.erase(it);
  launch_->recent = nullptr;
}

RaceChecker::BlockState& RaceChecker::StateOf(uint64_t number) {
  if (launch_->recent == nullptr || launch_->recent_number != number) {
    launch_->recent = &launch_->blocks.at(number);
    launch_->recent_number = number;
  }
  return *launch_->recent;
}

uint32_t RaceChecker::StampOf(BlockState& state) {
  LaunchOrder::Block& order = *state.order;
  if (order.stamp == 0) {
    stamps_.push_back({.launch = launch_->number, .block = order.number, .clock = order.now});
    order.stamp = stamp_base_ + static_cast<uint32_t>(stamps_.size());
  }
  return order.stamp;
}

// -- synchronisation

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
  const Site& site = SiteOf(warp, in);
  if (site.ignored) return;
  BlockState& state = StateOf(warp.block_number());
  launch_->order->Fence(*state.order, warp.warp_in_block(), mask, site.scope);
}

void RaceChecker::OnWarpBarrier(vgpu::WarpView& warp, uint32_t lanes) {
  BlockState& state = StateOf(warp.block_number());
  const uint32_t index = warp.warp_in_block();
  launch_->order->SyncLanes(*state.order, index, lanes, state.live[index]);
}

void RaceChecker::OnExit(vgpu::WarpView& warp, uint32_t mask) {
  StateOf(warp.block_number()).live[warp.warp_in_block()] &= ~mask;
}

void RaceChecker::OnFree(const vgpu::Allocation& allocation, uint64_t, const Place&) {
  global_.Forget(allocation.address, (allocation.size + kPageBytes - 1) / kPageBytes * kPageBytes);
}

void RaceChecker::OnSubmit(uint64_t operation, std::span<const uint64_t> after) {
  operations_.Submit(operation, after);
}

void RaceChecker::OnHostWait(std::span<const uint64_t> operations) {
  operations_.HostWait(operations);
}

void RaceChecker::OnMbarrierEnded(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) {
  if (launch_->order->quiet()) return;
  BlockState& state = StateOf(warp.block_number());
  const uint64_t shared = memory_.shared_window();
  for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint64_t key = access.address[lane] - shared + (warp.block_number() << 24);
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
      const uint64_t key =
          access.address[lane] - memory_.shared_window() + (warp.block_number() << 24);
      launch_->order->StrongWrite(*state.order, thread, key, SyncScope::kBlock, true, true);
    }
  }
}

// Copies become ordinary writes of the thread that waited for them; the last `leave` groups stay.
void RaceChecker::CompleteCopies(BlockState& state, uint32_t thread, size_t leave) {
  BlockState::Copies& copies = state.copies[thread];
  while (copies.groups.size() > leave) {
    for (const auto& copy : copies.groups.front()) {
      for (uint32_t at = copy.offset; at < copy.offset + copy.bytes;) {
        Page& page = *state.shared[at / kPageBytes];
        Entry& write = page.cells[(at % kPageBytes) >> page.shift].write;
        if ((write.who & Entry::kPending) != 0 && write.thread() == thread &&
            write.site == copy.site) {
          write.stamp = StampOf(state);
          write.who &= static_cast<uint16_t>(~Entry::kPending);
        }
        at += 1u << page.shift;
      }
    }
    copies.groups.pop_front();
  }
}

// -- accesses

const RaceChecker::Site& RaceChecker::SiteOf(const vgpu::WarpView& warp,
                                             const vgpu::Instruction& in) {
  const auto [it, is_new] = site_of_.try_emplace(&in, 0);
  if (!is_new) return *sites_[it->second];
  if (sites_.size() >= kMaxSites) return *sites_[0];
  auto site = std::make_unique<Site>();
  const vgpu::Function& function = warp.function();
  site->place = {.kernel = launch_->kernel,
                 .source = vgpu::SourceLocationOf(function, in),
                 .ptx = vgpu::PtxLocationOf(function, in),
                 .instruction = vgpu::TextOf(function, in)};
  site->in_loop = IsInLoop(function, in);
  ptx::Semantics semantics = ptx::Semantics::kNone;
  ptx::Scope scope = ptx::Scope::kNone;
  ptx::Space space = ptx::Space::kNone;
  bool is_proxy_fence = false;
  if (const ptx::Instruction* syntax = function.locations[in.location].syntax; syntax != nullptr) {
    const ptx::Mnemonic& mnemonic = *syntax->mnemonic;
    semantics = mnemonic.semantics;
    scope = mnemonic.scope;
    space = mnemonic.SpaceAt(0);
    is_proxy_fence =
        syntax->opcode() == ptx::Opcode::kFenceProxy || mnemonic.Has(ptx::Modifier::kProxy);
  }
  switch (in.op) {
    case Op::kLoad:
    case Op::kWmmaLoad:
    case Op::kLdmatrix:
      site->reads = true;
      site->ignored = in.address == vgpu::AddressBase::kParameters ||
                      in.space == vgpu::MemorySpace::kLocal || space == ptx::Space::kConst ||
                      space == ptx::Space::kParam || space == ptx::Space::kParamEntry;
      break;
    case Op::kAtom:
    case Op::kAtomVector:
      site->reads = site->writes = site->is_atomic = true;
      break;
    case Op::kRed:
      site->writes = site->is_atomic = true;
      break;
    case Op::kMbarrier: {
      const auto op = static_cast<vgpu::MbarrierOp>(in.variant);
      site->writes = true;
      // Nobody may use it before it is made; inval comes after the last use by the barrier's count.
      site->is_atomic = op != vgpu::MbarrierOp::kInit;
      site->releases = op == vgpu::MbarrierOp::kArrive || op == vgpu::MbarrierOp::kArriveDrop ||
                       op == vgpu::MbarrierOp::kArriveExpect ||
                       op == vgpu::MbarrierOp::kArriveDropExpect;
      break;
    }
    case Op::kFence:
      site->ignored = is_proxy_fence;
      break;
    case Op::kCpAsync:
      // Its source comes as a load of the same instruction.
      site->writes = true;
      site->flags = Entry::kAsync | Entry::kPending;
      break;
    case Op::kBulkCopy:
      // A write of the thread that issued it; its completion at the mbarrier makes it known.
      site->writes = site->releases = true;
      break;
    default:
      site->writes = true;
      site->ignored = in.space == vgpu::MemorySpace::kLocal;
      break;
  }
  const bool strong = site->is_atomic || (in.is_volatile && in.op != Op::kMbarrier) ||
                      (in.op == Op::kLoad && IsGuessOfSwap(function, in));
  if (strong) site->flags |= Entry::kStrong;
  if (strong && semantics == ptx::Semantics::kVolatile) site->flags |= Entry::kVolatile;
  site->scope = scope == ptx::Scope::kCta ? SyncScope::kBlock : SyncScope::kDevice;
  if (in.op == Op::kMbarrier) site->scope = SyncScope::kBlock;
  if (site->scope == SyncScope::kDevice) site->flags |= Entry::kDeviceScope;
  site->acquires = semantics == ptx::Semantics::kAcquire || semantics == ptx::Semantics::kAcqRel ||
                   semantics == ptx::Semantics::kSc;
  site->releases = site->releases || semantics == ptx::Semantics::kRelease ||
                   semantics == ptx::Semantics::kAcqRel || semantics == ptx::Semantics::kSc;
  site->id = static_cast<uint16_t>(sites_.size());
  it->second = site->id;
  sites_.push_back(std::move(site));
  return *sites_.back();
}

bool RaceChecker::OnMemoryAccess(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) {
  if (access.kind == AccessKind::kPrefetch) return true;
  const Site& site = SiteOf(warp, *access.instruction);
  if (site.ignored || site.id == 0) return true;
  BlockState& state = StateOf(warp.block_number());
  Actor actor{.warp = warp, .access = access, .site = site, .block = state, .me = {}};
  actor.me.site = site.id;
  actor.me.stamp = StampOf(state);
  const uint32_t first = warp.warp_in_block() * kLanes;
  const bool strong = (site.flags & Entry::kStrong) != 0;
  uint32_t lanes = access.mask;
  if (access.kind == AccessKind::kLoad && !strong) {
    // One word for all: two readers stand for the rest, as everywhere.
    const uint64_t address = access.address[static_cast<size_t>(std::countr_zero(lanes))];
    bool same = true;
    for (uint32_t rest = lanes; rest != 0 && same; rest &= rest - 1) {
      same = access.address[static_cast<size_t>(std::countr_zero(rest))] == address;
    }
    if (same) lanes = (lanes & -lanes) | 1u << (31 - std::countl_zero(lanes));
  }
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    actor.lane = static_cast<uint32_t>(std::countr_zero(rest));
    actor.thread = first + actor.lane;
    actor.me.who = static_cast<uint16_t>(actor.thread | site.flags);
    AccessLane(actor, access.address[actor.lane], access.bytes);
  }
  return true;
}

void RaceChecker::AccessLane(Actor& actor, uint64_t address, uint32_t bytes) {
  const uint64_t shared_window = memory_.shared_window();
  const uint64_t offset = address - shared_window;
  actor.shared = offset < vgpu::kSharedWindowSize;
  if (!actor.shared && address - memory_.local_window() < vgpu::kLocalWindowSize) return;
  BlockState& block = actor.block;
  if (actor.shared) {
    const uint32_t size = actor.warp.shared_bytes();
    if (offset >= size || size - offset < bytes) return;  // the bounds checker's business
    if (block.shared.empty()) block.shared.resize((size + kPageBytes - 1) / kPageBytes);
  }
  const AccessKind kind = actor.access.kind;
  // cp.async comes twice, as a load of its source and as a write.
  const bool writes = actor.site.writes && kind != AccessKind::kLoad;
  if (kind == AccessKind::kLoad) {
    actor.me.who &= static_cast<uint16_t>(~(Entry::kAsync | Entry::kPending));
  } else if (kind == AccessKind::kAsyncCopy && actor.shared &&
             (actor.site.flags & Entry::kPending) != 0) {
    block.copies[actor.thread].open.push_back(
        {.offset = static_cast<uint32_t>(offset), .bytes = bytes, .site = actor.site.id});
  }
  const auto finest =
      static_cast<uint32_t>(std::countr_zero(static_cast<uint32_t>(address) | bytes | 4u));
  for (uint64_t at = address; at < address + bytes;) {
    Page* page;
    if (actor.shared) {
      std::unique_ptr<Page>& place = block.shared[(at - shared_window) / kPageBytes];
      if (place == nullptr) place = shared_pages_.Take();
      page = place.get();
    } else {
      page = &global_.At(at);
    }
    if (finest < page->shift) page->Refine(finest);
    const uint32_t shift = page->shift;
    const uint64_t page_start = actor.shared ? (at - shared_window) % kPageBytes : at % kPageBytes;
    const uint64_t end = std::min(address + bytes, at + (kPageBytes - page_start));
    actor.cell_bytes = 1u << shift;
    for (uint64_t index = page_start >> shift; at < end; ++index, at += actor.cell_bytes) {
      actor.address = at;
      if (writes) {
        Write(actor, page->cells[index]);
      } else {
        Read(actor, page->cells[index]);
      }
    }
  }
  if ((actor.site.flags & Entry::kStrong) == 0 && !actor.site.releases) return;
  LaunchOrder& order = *launch_->order;
  const uint64_t key =
      actor.shared ? offset + (uint64_t{block.order->number} << 24) : address | uint64_t{1} << 63;
  const Site& site = actor.site;
  if (site.reads && !order.quiet()) {
    order.StrongRead(*block.order, actor.thread, key, site.scope, site.acquires);
  }
  if (writes) {
    order.StrongWrite(*block.order, actor.thread, key, site.scope, site.releases, site.is_atomic);
    // A release ends the interval of what it published.
    actor.me.stamp = StampOf(block);
  }
}

// Does what `entry` says happen before the access that is looked at? True for no entry.
bool RaceChecker::IsPast(const Actor& actor, const Entry& entry) const {
  if (entry.stamp < launch_->first_stamp) return true;
  const Stamp& stamp = stamps_[entry.stamp - 1 - stamp_base_];
  if (stamp.launch != launch_->number) {
    if (actor.shared) return true;
    const Launch& other = *launches_[stamp.launch];
    return other.operation == 0 || launch_->operation == 0 ||
           other.operation == launch_->operation || launch_->before.Contains(other.operation);
  }
  if (actor.shared && stamp.block != actor.block.order->number) return true;
  if ((entry.who & Entry::kPending) != 0) return false;
  return LaunchOrder::Ordered(*actor.block.order, actor.thread, stamp.block, entry.thread(),
                              stamp.clock);
}

// An atomic that read the word and happens before this access came after all atomics before it in
// the word's own order: the last block of a reduction may reset the counter of the tickets.
bool RaceChecker::Observed(const Actor& actor, const Cell& cell) const {
  return (cell.write.who & cell.other_write.who & Entry::kStrong) != 0 &&
         sites_[cell.write.site]->is_atomic && sites_[cell.write.site]->reads &&
         IsPast(actor, cell.write);
}

// The entry and the access conflict, one of them writes, and nothing orders them: is that a race?
void RaceChecker::Check(Actor& actor, const Entry& entry, bool entry_writes) {
  bool volatile_pair = false;
  if ((entry.who & actor.me.who & Entry::kStrong) != 0) {
    const Stamp& stamp = stamps_[entry.stamp - 1 - stamp_base_];
    const bool same_launch = stamp.launch == launch_->number;
    const bool same_block = same_launch && stamp.block == actor.block.order->number;
    const bool reaches = same_block || (entry.who & actor.me.who & Entry::kDeviceScope) != 0;
    // Lanes of a warp that exchange data by volatile shared memory, as was the custom before Volta.
    const bool is_write = actor.site.writes;
    const Site& reader = is_write ? *sites_[entry.site] : actor.site;
    volatile_pair = reaches && actor.shared && same_block && is_write != entry_writes &&
                    entry.thread() / kLanes == actor.thread / kLanes &&
                    (entry.who & actor.me.who & Entry::kVolatile) != 0 && !reader.in_loop;
    if (reaches && !volatile_pair) return;
  }
  Report(actor, entry, entry_writes, volatile_pair);
}

void RaceChecker::Read(Actor& actor, Cell& cell) {
  const Entry me = actor.me;
  if (cell.read.stamp == me.stamp && cell.read.who == me.who &&
      cell.write.stamp < launch_->first_stamp) {
    return;
  }
  // What a waiting loop of this thread has seen may be read again.
  const bool waited = cell.read.thread() == actor.thread && sites_[cell.read.site]->in_loop &&
                      (me.who & Entry::kVolatile) != 0;
  if (cell.write.stamp != 0 && !waited && !IsPast(actor, cell.write)) {
    Check(actor, cell.write, true);
  }
  if (cell.other_write.stamp != 0 && !IsPast(actor, cell.other_write) && !Observed(actor, cell)) {
    Check(actor, cell.other_write, true);
  }
  if (IsPast(actor, cell.read)) {
    cell.read = me;
    return;
  }
  if (IsPast(actor, cell.other_read)) {
    cell.other_read = me;
    return;
  }
  // Both stay. A plain read conflicts with more than a strong one.
  if ((me.who & Entry::kStrong) != 0) return;
  if ((cell.read.who & Entry::kStrong) != 0) {
    cell.read = me;
  } else if ((cell.other_read.who & Entry::kStrong) != 0) {
    cell.other_read = me;
  }
}

void RaceChecker::Write(Actor& actor, Cell& cell) {
  const Entry me = actor.me;
  const bool write_past = IsPast(actor, cell.write);
  const bool read_past = IsPast(actor, cell.read);
  const bool other_read_past = IsPast(actor, cell.other_read);
  if (!write_past) Check(actor, cell.write, true);
  const bool other_past = IsPast(actor, cell.other_write);
  if (!other_past && !Observed(actor, cell)) Check(actor, cell.other_write, true);
  if (!read_past) Check(actor, cell.read, false);
  if (!other_read_past) Check(actor, cell.other_read, false);
  if ((me.who & Entry::kStrong) == 0) {
    cell = {.write = me};
    return;
  }
  // Atomics and the like of other threads are no races, but later plain accesses must know them.
  // Of those a plain one (such as the initialisation of a barrier) says more.
  const bool plain = cell.write.stamp != 0 && (cell.write.who & Entry::kStrong) == 0;
  const bool keeps_plain = !other_past && (cell.other_write.who & Entry::kStrong) == 0;
  if (plain || (!write_past && !keeps_plain)) cell.other_write = cell.write;
  cell.write = me;
  if (read_past) cell.read = {};
  if (other_read_past) cell.other_read = {};
}

// -- reports

Place RaceChecker::PlaceOfEntry(const Entry& entry) const {
  const Stamp& stamp = stamps_[entry.stamp - 1 - stamp_base_];
  const Launch& launch = *launches_[stamp.launch];
  Place place = sites_[entry.site]->place;
  place.block = Unflatten(stamp.block, launch.grid);
  place.thread = Unflatten(entry.thread(), launch.block);
  return place;
}

// Both sides are plain stores, and the bytes of the cell are the same.
bool RaceChecker::WritesSameValue(const Actor& actor, const Entry& entry) const {
  const vgpu::Instruction& in = *actor.access.instruction;
  if (in.op != Op::kStore || ((entry.who | actor.me.who) & Entry::kAsync) != 0) return false;
  const auto value = [&](uint32_t lane, uint64_t address, std::byte* bytes) {
    const uint64_t offset = address - actor.access.address[lane];
    const vgpu::Operand operand =
        in.list_count > 0 ? actor.warp.function().list[in.list_first + offset / in.bytes] : in.b;
    uint64_t parts[2] = {
        actor.warp.ReadOperand(operand, static_cast<int>(lane), 0),
        in.bytes > 8 ? actor.warp.ReadOperand(operand, static_cast<int>(lane), 1) : 0};
    std::memcpy(bytes, reinterpret_cast<const std::byte*>(parts) + offset % in.bytes,
                actor.cell_bytes);
  };
  std::byte mine[16] = {};
  std::byte theirs[16] = {};
  value(actor.lane, actor.address, mine);
  // A lane of this very access: its value is not in memory yet.
  const uint32_t other = entry.thread() % kLanes;
  const bool same_access = entry.site == actor.site.id && entry.stamp == actor.me.stamp &&
                           entry.thread() / kLanes == actor.thread / kLanes &&
                           (actor.access.mask >> other & 1) != 0 &&
                           actor.address - actor.access.address[other] < actor.access.bytes;
  if (same_access) {
    value(other, actor.address, theirs);
  } else {
    const bool found = actor.warp.ReadMemory(static_cast<int>(actor.lane), actor.address, theirs,
                                             actor.cell_bytes);
    if (!found) return false;
  }
  return std::memcmp(mine, theirs, actor.cell_bytes) == 0;
}

void RaceChecker::Report(Actor& actor, const Entry& entry, bool entry_writes, bool volatile_pair) {
  const bool writes = actor.site.writes && actor.access.kind != AccessKind::kLoad;
  const bool async = ((entry.who | actor.me.who) & Entry::kAsync) != 0;
  FindingKind kind = FindingKind::kRace;
  if (async) {
    kind = FindingKind::kAsyncHazard;
  } else if (writes && entry_writes && ((entry.who | actor.me.who) & Entry::kStrong) == 0 &&
             WritesSameValue(actor, entry)) {
    kind = FindingKind::kRaceSameValue;
  }
  const Space space = actor.shared ? Space::kShared : Space::kGlobal;
  const std::array<uint32_t, 4> key{std::min(actor.site.id, entry.site),
                                    std::max(actor.site.id, entry.site),
                                    static_cast<uint32_t>(kind), static_cast<uint32_t>(space)};
  if (const auto it = race_of_.find(key); it != race_of_.end()) {
    ++races_[it->second].finding.count;
    return;
  }
  std::optional<vgpu::Allocation> allocation;
  if (!actor.shared) {
    allocation = memory_.Find(actor.address);
    if (!allocation) return;  // no memory at all: the bounds checker's business
  }
  const Stamp& stamp = stamps_[entry.stamp - 1 - stamp_base_];
  const bool same_launch = stamp.launch == launch_->number;
  const bool same_block = same_launch && stamp.block == actor.block.order->number;
  const bool same_thread = same_block && entry.thread() == actor.thread;
  const bool same_warp = same_block && entry.thread() / kLanes == actor.thread / kLanes;
  const auto name = [&](const Entry& e, bool is_write) {
    const Site& site = *sites_[e.site];
    if ((e.who & Entry::kAsync) != 0) return std::string("asynchronous copy");
    if (site.is_atomic) return std::string("atomic");
    const bool strong = (e.who & Entry::kStrong) != 0;
    return std::string(strong ? "strong " : "") + (is_write ? "write" : "read");
  };
  const std::string mine = name(actor.me, writes);
  const std::string theirs = name(entry, entry_writes);
  std::string message;
  if (async && (entry.who & Entry::kPending) != 0 && (same_thread || same_block)) {
    message = fmt::format(
        "{} of what an asynchronous copy of {} may still be writing: {} "
        "cp.async.wait_group (__pipeline_wait_prior){}",
        mine, same_thread ? "the same thread" : "another thread",
        same_thread ? "it comes before" : "the copy was not waited for by",
        same_thread ? "" : " and a barrier");
  } else if (kind == FindingKind::kRaceSameValue) {
    message = fmt::format("race between two writes of the same value to {} memory",
                          actor.shared ? "shared" : "global");
  } else {
    message = fmt::format("race between a{} {} and a{} {} {}", mine.front() == 'a' ? "n" : "", mine,
                          theirs.front() == 'a' ? "n" : "", theirs,
                          actor.shared ? "in shared memory" : "in global memory");
  }
  if (!same_launch) {
    message += ": no stream or event orders the two kernels";
  } else if (!same_block) {
    const bool narrow = (entry.who & actor.me.who & Entry::kStrong) != 0;
    message += narrow ? ": the scope of one of them is its block, the other is in another block"
                      : ": the two blocks are not ordered";
  } else if (volatile_pair) {
    message += ": volatile does not order the lanes of a warp, __syncwarp() would";
  } else if (!same_thread) {
    message += same_warp ? ": lanes of one warp, with no __syncwarp() or barrier between them"
                         : ": no barrier between them";
  }
  Finding finding{.kind = kind,
                  .severity = DefaultSeverity(kind),
                  .space = space,
                  .place = PlaceOf(launch_->kernel, actor.warp, *actor.access.instruction,
                                   static_cast<int>(actor.lane)),
                  .message = std::move(message),
                  .address = actor.address,
                  .other = PlaceOfEntry(entry),
                  .other_message = fmt::format("the other: {}", theirs),
                  .allocation = std::move(allocation)};
  // Which came first is chance: the place is the later line, behind which the other is seen.
  const auto line = [](const Place& place) {
    return std::tie(place.source.file, place.source.line, place.ptx.line);
  };
  if (line(finding.place) < line(*finding.other)) {
    std::swap(finding.place, *finding.other);
    finding.other_message = fmt::format("the other: {}", mine);
  }
  race_of_[key] = races_.size();
  races_.push_back({std::move(finding), key});
}

}  // namespace kernelsmith::checkers

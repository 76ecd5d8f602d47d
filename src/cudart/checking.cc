#include "cudart/checking.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "checkers/report.h"
#include "checkers/suite.h"
#include "cudart/graph.h"
#include "cudart/messages.h"
#include "cudart/runtime.h"

namespace kernelsmith::cudart {

namespace {

using checkers::HostFrame;
using checkers::Place;

// Enough to get from the API through wrappers and inlined templates to the program's own code.
constexpr int kMostFrames = 24;
constexpr size_t kKeptFrames = 6;

thread_local Place t_launch_place;

// Return addresses outside of this library, innermost first.
std::vector<const void*> ReturnAddresses() {
  std::array<void*, kMostFrames> all{};
  const int count = ::backtrace(all.data(), kMostFrames);
  Dl_info own{};
  ::dladdr(reinterpret_cast<const void*>(&ReturnAddresses), &own);
  std::vector<const void*> kept;
  for (int i = 0; i < count && kept.size() < kKeptFrames; ++i) {
    Dl_info info{};
    if (::dladdr(all[static_cast<size_t>(i)], &info) == 0) continue;
    if (info.dli_fbase == own.dli_fbase) {
      kept.clear();  // a callback of the program that we called is not who called us
      continue;
    }
    kept.push_back(all[static_cast<size_t>(i)]);
  }
  return kept;
}

HostFrame FrameOf(const void* address) {
  Dl_info info{};
  link_map* map = nullptr;
  if (::dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return {};
  HostFrame frame;
  // The program itself has no name in the map.
  frame.module = info.dli_fname == nullptr ? "" : info.dli_fname;
  if (map != nullptr && map->l_name != nullptr && *map->l_name == '\0') {
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    if (length > 0) frame.module.assign(path.data(), static_cast<size_t>(length));
  }
  // The address of the call, not of what follows it.
  const auto value = reinterpret_cast<uint64_t>(address) - 1;
  frame.offset = value - (map == nullptr ? 0 : map->l_addr);
  if (info.dli_sname != nullptr) frame.symbol = info.dli_sname;
  return frame;
}

Place PlaceOfCaller() {
  Place place;
  for (const void* address : ReturnAddresses()) place.frames.push_back(FrameOf(address));
  return place;
}

bool CallerUsesResult() {
  for (const void* address : ReturnAddresses()) {
    bool returns = false;
    if (UsesResult(static_cast<const unsigned char*>(address), &returns)) return true;
    if (!returns) return false;
  }
  return true;
}

}  // namespace

// A decoder of just those instructions that compilers put behind calls; at the first one it does
// not know the result counts as used.
static bool UsesResultFrom(const unsigned char* pc, bool* returns, int depth) {
  constexpr int kMost = 24;
  constexpr int kMostBranches = 6;
  for (int n = 0; n < kMost; ++n) {
    const unsigned char* p = pc;
    while (*p == 0x66 || *p == 0xf2 || *p == 0xf3) ++p;
    unsigned char rex = 0;
    if ((*p & 0xf0) == 0x40) rex = *p++;
    const unsigned char op = *p++;
    // Length of ModRM with what follows; `reg` and `rm` as numbers of registers.
    const auto modrm = [&](int* reg, int* rm) {
      const unsigned char m = *p++;
      const int mod = m >> 6;
      *reg = (m >> 3 & 7) | ((rex & 4) != 0 ? 8 : 0);
      *rm = mod == 3 ? (m & 7) | ((rex & 1) != 0 ? 8 : 0) : -1;
      bool uses_eax = false;  // as an address
      if (mod != 3 && (m & 7) == 4) {
        const unsigned char sib = *p++;
        if (mod == 0 && (sib & 7) == 5) p += 4;
        uses_eax = ((sib & 7) == 0 && (rex & 1) == 0) || ((sib >> 3 & 7) == 0 && (rex & 2) == 0);
      } else if (mod != 3) {
        if (mod == 0 && (m & 7) == 5) p += 4;
        uses_eax = (m & 7) == 0 && (rex & 1) == 0;
      }
      if (mod == 1) p += 1;
      if (mod == 2) p += 4;
      return uses_eax;
    };
    int reg = 0;
    int rm = 0;
    switch (op) {
      case 0xe8:  // call: eax is lost
        return false;
      case 0xc3:
        *returns = true;
        return false;
      case 0xc9:  // leave
      case 0x90:
        break;
      case 0x31:
      case 0x33: {
        if (modrm(&reg, &rm)) return true;
        if (reg == 0 && rm == 0) return false;  // xor eax, eax
        if (reg == 0 || rm == 0) return true;
        break;
      }
      case 0x89:  // mov rm, reg
      case 0x39:
      case 0x3b:
      case 0x85:
      case 0x63:
      case 0x01:
      case 0x03:
      case 0x29:
      case 0x2b: {
        const bool address = modrm(&reg, &rm);
        if (address || reg == 0 || (rm == 0 && op != 0x89)) return true;
        if (rm == 0) return false;  // overwritten
        break;
      }
      case 0x8b:    // mov reg, rm
      case 0x8d: {  // lea
        if (modrm(&reg, &rm) || rm == 0) return true;
        if (reg == 0) return false;
        break;
      }
      case 0x83:
        if (modrm(&reg, &rm) || rm == 0) return true;
        p += 1;
        break;
      case 0x81:
        if (modrm(&reg, &rm) || rm == 0) return true;
        p += 4;
        break;
      case 0xc6:
        if (modrm(&reg, &rm)) return true;
        p += 1;
        break;
      case 0xc7:
        if (modrm(&reg, &rm)) return true;
        if (rm == 0) return false;
        p += 4;
        break;
      case 0x0f: {
        const unsigned char second = *p++;
        if (second >= 0x80 && second <= 0x8f) {  // a branch on something else
          int32_t distance = 0;
          std::memcpy(&distance, p, sizeof distance);
          p += sizeof distance;
          if (depth >= kMostBranches) return true;
          return UsesResultFrom(p + distance, returns, depth + 1) ||
                 UsesResultFrom(p, returns, depth + 1);
        }
        const bool plain = second == 0x1f || second == 0x10 || second == 0x11 || second == 0x28 ||
                           second == 0x29 || second == 0x57 || second == 0x6f || second == 0x7f ||
                           second == 0xef || second == 0x16 || second == 0x12 || second == 0x14;
        if (!plain) return true;
        if (modrm(&reg, &rm)) return second != 0x1f;
        break;
      }
      case 0xeb:
        pc = p + 1 + static_cast<signed char>(*p);
        continue;
      case 0x6a:
        p += 1;
        break;
      case 0x68:
        p += 4;
        break;
      default:
        if (op >= 0x70 && op <= 0x7f) {
          const int distance = static_cast<signed char>(*p++);
          if (depth >= kMostBranches) return true;
          return UsesResultFrom(p + distance, returns, depth + 1) ||
                 UsesResultFrom(p, returns, depth + 1);
        }
        if (op >= 0x50 && op <= 0x5f) {  // push, pop
          if ((op & 7) == 0 && (rex & 1) == 0) return op < 0x58;
          break;
        }
        if (op >= 0xb8 && op <= 0xbf) {  // mov reg, imm
          if (op == 0xb8 && (rex & 1) == 0) return false;
          p += (rex & 8) != 0 ? 8 : 4;
          break;
        }
        return true;
    }
    pc = p;
  }
  return true;
}

bool UsesResult(const unsigned char* pc, bool* returns) {
  *returns = false;
  return UsesResultFrom(pc, returns, 0);
}

std::unique_ptr<Checking> Checking::FromSettings(const RuntimeSettings& settings) {
  if (settings.checks.empty() || settings.check_report.empty()) return nullptr;
  const Result<std::vector<std::string>> parsed = checkers::ParseChecks(settings.checks);
  if (!parsed.ok()) {
    Say("KERNELSMITH_CHECK: " + parsed.error().message());
    return nullptr;
  }
  std::unique_ptr<Checking> checking(new Checking);
  checking->checks_ = *parsed;
  checking->report_ =
      ::open(settings.check_report.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  return checking;
}

void Checking::SetMemoryOptions(vgpu::DeviceMemory::Options& options) {
  checkers::SetMemoryOptions(options);
}

void Checking::Start(vgpu::VirtualGpu& gpu) {
  orders_ = checkers::AddCheckers(list_, checks_, sink_, gpu);
  sink_.SetListener([this](const checkers::Finding& finding) {
    const std::string line = checkers::EncodeFinding(finding) + "\n";
    if (report_ >= 0) (void)!::write(report_, line.data(), line.size());
  });
}

Place Checking::CallPlace() const { return PlaceOfCaller(); }

void Checking::OnLaunchSyntax() { t_launch_place = PlaceOfCaller(); }

Place Checking::LaunchPlace() const {
  return t_launch_place.frames.empty() ? PlaceOfCaller() : t_launch_place;
}

void Checking::OnError(const char* call, cudaError_t error, bool from_launch_syntax) {
  if (error == cudaErrorNotReady) return;
  const bool launch = std::string_view(call) == "Launch";
  checkers::ApiError described{.call = launch ? "the launch" : call,
                               .name = cudaGetErrorName(error),
                               .detail = cudaGetErrorString(error),
                               .launch = launch,
                               .ignored = true,
                               .place = from_launch_syntax ? LaunchPlace() : PlaceOfCaller()};
  if (!from_launch_syntax && CallerUsesResult()) return;
  const std::lock_guard lock(mutex_);
  pending_.push_back({std::this_thread::get_id(), std::move(described)});
}

void Checking::OnErrorSeen() {
  const std::lock_guard lock(mutex_);
  std::erase_if(pending_, [](const PendingError& error) {
    return error.thread == std::this_thread::get_id();
  });
}

uint64_t Checking::NewOperation(std::vector<uint64_t> after) {
  uint64_t operation = 0;
  {
    const std::lock_guard lock(mutex_);
    operation = next_operation_++;
  }
  std::erase(after, 0);
  list_.OnSubmit(operation, after);
  return operation;
}

std::shared_ptr<void> Checking::UseMemory() {
  const std::lock_guard lock(memory_mutex_);
  ++users_;
  ++uses_;
  return {nullptr, [this](void*) {
            const std::lock_guard end(memory_mutex_);
            --users_;
          }};
}

Result<vgpu::LaunchResult> Checking::Launch(vgpu::VirtualGpu& gpu,
                                            const vgpu::LaunchRequest& request) {
  // A program may launch the same kernel thousands of times; the first few tell.
  constexpr int kMostRepeated = 4;
  if (!launched_.exchange(true) && report_ >= 0) {
    (void)!::write(report_, checkers::kLaunchedLine.data(), checkers::kLaunchedLine.size());
  }
  const auto use = UseMemory();
  std::unique_lock memory(memory_mutex_);
  const uint64_t began = uses_;
  const bool repeat =
      orders_ != nullptr && users_ == 1 && repeated_[request.entry]++ < kMostRepeated;
  memory.unlock();
  if (!repeat) return gpu.Launch(request);
  checkers::DeterminismLimits limits;
  limits.may_repeat = [&] {
    memory.lock();
    return users_ == 1 && uses_ == began;
  };
  return checkers::LaunchInSeveralOrders(
      gpu, request,
      [&](checkers::Finding finding, const std::vector<checkers::MemoryRange>& where) {
        orders_->Add(std::move(finding), where);
      },
      limits);
}

GraphOperations Checking::NewOperations(const GraphProgram& program, std::vector<uint64_t> after) {
  GraphOperations operations;
  operations.children.resize(program.steps.size());
  const uint64_t begin = NewOperation(std::move(after));
  std::vector<uint64_t> all{begin};
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const GraphProgram::Step& step = program.steps[i];
    std::vector<uint64_t> before{begin};
    for (const size_t other : step.after) before.push_back(operations.steps[other]);
    uint64_t operation = 0;
    if (step.child != nullptr) {
      operations.children[i] =
          std::make_unique<GraphOperations>(NewOperations(*step.child, std::move(before)));
      operation = operations.children[i]->end;
    } else {
      operation = NewOperation(std::move(before));
    }
    operations.steps.push_back(operation);
    all.push_back(operation);
  }
  operations.end = NewOperation(std::move(all));
  return operations;
}

void Checking::Finish() {
  {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
  }
  for (const PendingError& error : pending_) list_.OnApiError(error.error);
  list_.Finish();
  const std::string line = checkers::EncodeCounts(sink_.Findings()) + "\n";
  if (report_ >= 0) (void)!::write(report_, line.data(), line.size());
}

namespace {

// After the program's own exit handlers and destructors, which may still free memory.
__attribute__((destructor)) void FinishAtEnd() {
  Runtime& runtime = Runtime::Get();
  if (runtime.initialised() && runtime.checking() != nullptr && !runtime.forked()) {
    runtime.checking()->Finish();
  }
}

}  // namespace

}  // namespace kernelsmith::cudart

#include "sizes_mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <regex>

#include "ptx/ptx.h"
#include "vgpu/slice.h"
#include "vgpu/vgpu.h"

namespace kernelsmith {
namespace {

struct Rewrite {
  const char* pattern;
  const char* replacement;
};

// On a line of PTX. Only integers: what floats are is no matter of addresses.
constexpr Rewrite kRewrites[] = {
    {R"(setp\.lt\.([su]))", "setp.le.$1"},
    {R"(setp\.le\.([su]))", "setp.lt.$1"},
    {R"(setp\.ge\.([su]))", "setp.gt.$1"},
    {R"(setp\.gt\.([su]))", "setp.ge.$1"},
    {R"(setp\.ne\.([sub]))", "setp.eq.$1"},
    {R"(setp\.eq\.([sub]))", "setp.ne.$1"},
    {R"((setp\.\w+\.[su]\d+\s+%p\d+, %rd?\d+, -?\d+))", "${1}1"},
    {R"(^(\s*)@%p)", "$1@!%p"},
    {R"(^(\s*)@!?%p\d+ bra .*$)", "$1"},
    {R"((add\.s(32|64)\s+%rd?\d+, %rd?\d+, -?\d+);)", "${1}0;"},
    {R"((add|sub)\.s32(\s+%r\d+, %r\d+, %r\d+))", "mul.lo.s32$2"},
    {R"(\badd\.s32(\s+%r\d+, %r\d+, %r\d+))", "sub.s32$1"},
    {R"((shl\.b(32|64)\s+%rd?\d+, %rd?\d+), 2;)", "$1, 3;"},
    {R"((shl\.b(32|64)\s+%rd?\d+, %rd?\d+), (\d+);)", "$1, 1;"},
    {R"((shr\.[us]32\s+%r\d+, %r\d+), (\d+);)", "$1, 4;"},
    {R"((and\.b32\s+%r\d+, %r\d+), (\d+);)", "$1, ${2}1;"},
    {R"((mul\.wide\.[su]32\s+%rd\d+, %r\d+), 4;)", "$1, 8;"},
    {R"((mul\.wide\.[su]32\s+%rd\d+, %r\d+), (\d+);)", "$1, 2;"},
    {R"((mad\.lo\.s32\s+%r\d+), (%r\d+), (%r\d+), (%r\d+);)", "$1, $2, $4, $3;"},
    {R"((mad\.lo\.s32\s+%r\d+), (%r\d+), (%r\d+), (%r\d+);)", "$1, $2, $3, $2;"},
    {R"(mul\.lo\.s(32|64)(\s+%rd?\d+, %rd?\d+, %rd?\d+))", "add.s$1$2"},
    {R"((mul\.lo\.s(?:32|64)\s+%rd?\d+), (%rd?\d+), (%rd?\d+))", "$1, $3, $3"},
    {R"(((?:ld|st)\.global[\w.]*\s[^\[]*\[%rd\d+)\])", "$1+4]"},
    {R"(((?:ld|st)\.global[\w.]*\s[^\[]*\[%rd\d+)\])", "$1+-4]"},
    {R"(((?:ld|st)\.global[\w.]*\s[^\[]*\[%rd\d+\+\d+)\])", "${1}0]"},
    {R"(%tid\.x)", "%tid.y"},
    {R"(%tid\.x)", "%ctaid.x"},
    {R"(%tid\.y)", "%tid.x"},
    {R"(%ctaid\.x)", "%ctaid.y"},
    {R"(%ctaid\.y)", "%ctaid.x"},
    {R"(%ctaid\.x)", "%tid.x"},
    {R"(%ctaid\.z)", "%ctaid.x"},
    {R"(%ntid\.x)", "%nctaid.x"},
    {R"(%nctaid\.x)", "%ntid.x"},
    {R"((ld\.param\.u32.*_param_)(\d+)\])", "${1}1$2]"},
    {R"((ld\.param\.u32.*_param_)3\])", "${1}4]"},
    {R"((ld\.param\.u32.*_param_)4\])", "${1}3]"},
    {R"((ld\.param\.u32.*_param_)2\])", "${1}3]"},
    {R"((ld\.param\.u64.*_param_)0\])", "${1}1]"},
};

// One place that changes in every launch of all plans; false: nothing changed.
bool ChangeLaunches(SizesCase& changed, const std::function<bool(LaunchStep&)>& change) {
  bool any = false;
  for (Plan& plan : changed.plans) {
    for (PlanStep& step : plan.steps) {
      if (auto* launch = std::get_if<LaunchStep>(&step.action)) any |= change(*launch);
    }
  }
  return any;
}

void ChangeGrids(const SizesCase& right, const std::function<void(const SizesMutant&)>& visit) {
  for (const int by : {-1, 1}) {
    for (const int axis : {0, 1}) {
      SizesMutant mutant{.what = fmt::format("grid.{} {:+}", "xy"[axis], by), .changed = right};
      const bool any = ChangeLaunches(mutant.changed, [&](LaunchStep& launch) {
        uint32_t& size = axis == 0 ? launch.grid.x : launch.grid.y;
        if (size == 1) return false;
        size = static_cast<uint32_t>(static_cast<int>(size) + by);
        return true;
      });
      if (any) visit(mutant);
    }
  }
  for (const uint32_t factor : {2u, 0u}) {
    SizesMutant mutant{.what = factor == 2 ? "block.x * 2" : "block.x / 2", .changed = right};
    const bool any = ChangeLaunches(mutant.changed, [&](LaunchStep& launch) {
      if (launch.block.Count() > 512 || launch.block.x < 2) return false;
      launch.block.x = factor == 2 ? launch.block.x * 2 : launch.block.x / 2;
      return true;
    });
    if (any) visit(mutant);
  }
}

void ChangeNumbers(const SizesCase& right, const std::function<void(const SizesMutant&)>& visit) {
  size_t most = 0;
  SizesCase measured = right;
  ChangeLaunches(measured, [&](LaunchStep& launch) {
    most = std::max(most, launch.parameters.size());
    return false;
  });
  for (uint32_t at = 0; at + 4 <= most; at += 4) {
    for (const int by : {-1, 1}) {
      SizesMutant mutant{.what = fmt::format("number at {} {:+}", at, by), .changed = right};
      const bool any = ChangeLaunches(mutant.changed, [&](LaunchStep& launch) {
        const bool pointer = std::any_of(
            launch.pointers.begin(), launch.pointers.end(),
            [&](const PointerPatch& each) { return at + 4 > each.at && at < each.at + 8; });
        int32_t number = 0;
        if (pointer || at + 4 > launch.parameters.size()) return false;
        std::memcpy(&number, launch.parameters.data() + at, sizeof number);
        // Sizes; not halves of numbers, floats or flags.
        if (number < 1 || number > 10'000'000) return false;
        number += by;
        std::memcpy(launch.parameters.data() + at, &number, sizeof number);
        return true;
      });
      if (any) visit(mutant);
    }
  }
}

// The plan's buffers on a GPU of its own.
class LaunchAlone {
 public:
  static Result<std::string> Run(const SizesCase& tried, const Plan& plan, const LaunchStep& launch,
                                 bool written_once, bool shared) {
    KS_TRY(const std::unique_ptr<vgpu::VirtualGpu> gpu, vgpu::VirtualGpu::Create({}));
    KS_TRY(ptx::Module parsed, ptx::Parse(tried.ptx, "mutant.ptx"));
    KS_TRY(const std::unique_ptr<vgpu::LoadedModule> module,
           vgpu::LoadedModule::Load({std::make_shared<const ptx::Module>(std::move(parsed))},
                                    gpu->memory(), "mutant"));
    std::vector<uint64_t> buffers;
    for (const PlanBuffer& buffer : plan.buffers) {
      KS_TRY(const uint64_t address,
             gpu->memory().Allocate(buffer.bytes, vgpu::AllocationKind::kDevice, "buffer"));
      buffers.push_back(address);
    }
    std::vector<std::byte> parameters = launch.parameters;
    vgpu::SliceRecord slice;
    for (const PointerPatch& patch : launch.pointers) {
      const uint64_t address = buffers[patch.target.buffer] + patch.target.offset;
      std::memcpy(parameters.data() + patch.at, &address, sizeof address);
      for (const PlanTensor& output : plan.outputs) {
        if (!(output.at == patch.target)) continue;
        slice.outputs.push_back({.address = address,
                                 .bytes = plan.buffers[patch.target.buffer].bytes,
                                 .element_bytes = static_cast<uint32_t>(SizeOf(output.dtype))});
      }
    }
    vgpu::LaunchRequest request{.module = module.get(),
                                .entry = launch.kernel,
                                .grid = launch.grid,
                                .block = launch.block,
                                .cluster = launch.cluster,
                                .dynamic_shared_bytes = launch.dynamic_shared,
                                .parameters = parameters,
                                .cooperative = launch.cooperative,
                                .alone = true};
    KS_TRY(const vgpu::LaunchResult result, gpu->Launch(request));
    // Of shared memory something else is claimed.
    if (result.fault && !shared && result.fault->message.find(".shared") != std::string::npos) {
      return std::string();
    }
    if (result.fault) return result.fault->message;
    if (!written_once || slice.outputs.empty()) return std::string();
    request.slice = &slice;
    KS_TRY(const vgpu::LaunchResult sliced, gpu->Launch(request));
    if (sliced.fault || !slice.possible) return std::string();
    bool any = false;
    for (const vgpu::SliceOutput& output : slice.outputs) {
      const auto least = *std::min_element(output.writes.begin(), output.writes.end());
      const auto most = *std::max_element(output.writes.begin(), output.writes.end());
      if (most == 0) continue;
      any = true;
      if (least != 1 || most != 1) {
        return fmt::format("elements of a result are written {} to {} times", least, most);
      }
    }
    return any ? std::string() : std::string("no element of a result is written");
  }
};

}  // namespace

void ForEachMutant(const SizesCase& right,
                   const std::function<void(const SizesMutant& mutant)>& visit) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < right.ptx.size();) {
    const size_t end = std::min(right.ptx.find('\n', at), right.ptx.size());
    lines.push_back(right.ptx.substr(at, end - at));
    at = end + 1;
  }
  std::vector<std::regex> patterns;
  for (const Rewrite& rewrite : kRewrites) patterns.emplace_back(rewrite.pattern);
  for (size_t line = 0; line < lines.size(); ++line) {
    if (lines[line].find("//") != std::string::npos ||
        lines[line].find(".loc") != std::string::npos)
      continue;
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (!std::regex_search(lines[line], patterns[i])) continue;
      const std::string changed =
          std::regex_replace(lines[line], patterns[i], kRewrites[i].replacement);
      if (changed == lines[line]) continue;
      SizesMutant mutant{
          .what = fmt::format("PTX line {}: {} instead of {}", line + 1, changed, lines[line]),
          .changed = right};
      mutant.changed.ptx.clear();
      for (size_t k = 0; k < lines.size(); ++k) {
        mutant.changed.ptx += (k == line ? changed : lines[k]) + "\n";
      }
      visit(mutant);
    }
  }
  ChangeGrids(right, visit);
  ChangeNumbers(right, visit);
}

Result<std::string> WhatGoesWrong(const SizesCase& tried, const std::string& kernel, size_t launch,
                                  bool written_once, bool shared) {
  for (const Plan& plan : tried.plans) {
    size_t number = 0;
    for (const PlanStep& step : plan.steps) {
      const auto* each = std::get_if<LaunchStep>(&step.action);
      if (each == nullptr || each->kernel != kernel || number++ != launch) continue;
      KS_TRY(std::string wrong, LaunchAlone::Run(tried, plan, *each, written_once, shared));
      if (!wrong.empty()) return wrong;
    }
  }
  return std::string();
}

}  // namespace kernelsmith

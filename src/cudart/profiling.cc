#include "cudart/profiling.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>

#include "ptx/ptx.h"

namespace kernelsmith::cudart {

std::unique_ptr<Profiling> Profiling::FromSettings(const RuntimeSettings& settings,
                                                   const GpuModel& model, vgpu::VirtualGpu& gpu) {
  const std::string& path = settings.profile;
  if (path.empty()) return nullptr;
  std::unique_ptr<Profiling> self(new Profiling);
  self->report_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  counters::CounterOptions options;
  options.gpu = &model;
  options.memory = &gpu.memory();
  options.max_blocks = settings.profile_blocks.value_or(options.max_blocks);
  if (options.max_blocks == 0) options.max_instructions = 0;
  options.run_others = !settings.profile_watched_only;
  options.seed = settings.profile_seed.value_or(options.seed);
  // The PTX goes into a file beside the report: whoever reads the report asks ptxas about
  // registers.
  options.on_module = [self = self.get(), base = path](const ptx::Module& module) {
    const std::string file = base + "." + std::to_string(self->modules_++) + ".ptx";
    std::ofstream(file) << ptx::Print(module);
    self->Write({{"module", file}});
  };
  options.on_launch = [self = self.get()](const counters::LaunchCounters& launch) {
    self->Write(counters::ToJson(launch));
  };
  self->observer_ = std::make_unique<counters::CounterObserver>(std::move(options));
  return self;
}

Profiling::~Profiling() {
  if (report_ >= 0) ::close(report_);
}

void Profiling::Write(const nlohmann::json& line) {
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (report_ >= 0) (void)!::write(report_, text.data(), text.size());
}

}  // namespace kernelsmith::cudart

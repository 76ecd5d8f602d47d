#include "cudart/profiling.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "ptx/ptx.h"

namespace kernelsmith::cudart {

namespace {

uint64_t NumberOf(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

std::unique_ptr<Profiling> Profiling::FromEnvironment(const GpuModel& model,
                                                      vgpu::VirtualGpu& gpu) {
  const char* path = std::getenv("KERNELSMITH_PROFILE");
  if (path == nullptr || *path == '\0') return nullptr;
  std::unique_ptr<Profiling> self(new Profiling);
  self->report_ = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  counters::CounterOptions options;
  options.gpu = &model;
  options.memory = &gpu.memory();
  options.max_blocks = NumberOf("KERNELSMITH_PROFILE_BLOCKS", options.max_blocks);
  if (options.max_blocks == 0) options.max_instructions = 0;
  options.run_others = NumberOf("KERNELSMITH_PROFILE_WATCHED_ONLY", 0) == 0;
  options.seed = NumberOf("KERNELSMITH_PROFILE_SEED", options.seed);
  // The PTX goes into a file beside the report: whoever reads the report asks ptxas about
  // registers.
  options.on_module = [self = self.get(), base = std::string(path)](const ptx::Module& module) {
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

// `kernelsmith launch FILE.ptx`: runs one kernel of a PTX text on the virtual GPU, with buffers and
// scalars from the command line, and prints what it wrote. No CUDA program is needed.
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "cli/commands.h"
#include "cli/launch_arguments.h"
#include "ptx/ptx.h"
#include "vgpu/vgpu.h"

namespace kernelsmith {
namespace {

using vgpu::Dim3;

struct LaunchOptions {
  std::vector<std::string> files;
  std::string kernel;
  std::string grid = "1";
  std::string block = "1";
  uint32_t shared_bytes = 0;
  std::vector<std::string> arguments;
  bool cooperative = false;
  bool hex = false;
};

Result<Dim3> ParseDim3(std::string_view option, std::string_view text) {
  Dim3 dim;
  uint32_t* parts[] = {&dim.x, &dim.y, &dim.z};
  std::string_view rest = text;
  for (uint32_t* part : parts) {
    const size_t comma = rest.find(',');
    const std::string_view number = rest.substr(0, comma);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), *part);
    if (error != std::errc{} || end != number.data() + number.size() || *part == 0) break;
    if (comma == std::string_view::npos) return dim;
    rest = rest.substr(comma + 1);
  }
  return InvalidInput(fmt::format(
      "{} {}: expected one to three positive numbers, x or x,y or x,y,z", option, text));
}

// A buffer on the virtual GPU.
struct Buffer {
  const LaunchArgument* argument;
  uint64_t address;
};

constexpr size_t kValuesPerLine = 16;

class Launcher {
 public:
  Launcher(Session& session, const LaunchOptions& options) : session_(session), options_(options) {}

  Result<ExitCode> Run() {
    KS_TRY(const Dim3 grid, ParseDim3("--grid", options_.grid));
    KS_TRY(const Dim3 block, ParseDim3("--block", options_.block));
    for (const std::string& text : options_.arguments) {
      KS_TRY(LaunchArgument argument, ParseLaunchArgument(text));
      arguments_.push_back(std::move(argument));
    }
    std::vector<std::shared_ptr<const ptx::Module>> modules;
    for (const std::string& file : options_.files) {
      KS_TRY(const std::string text, session_.files.Read(file));
      KS_TRY(ptx::Module module, ptx::Parse(text, file));
      modules.push_back(std::make_shared<const ptx::Module>(std::move(module)));
    }
    vgpu::VirtualGpu::Options gpu_options{.settings = session_.settings.engine};
    gpu_options.print = [this](std::string_view text) { Print(text); };
    KS_TRY(gpu_, vgpu::VirtualGpu::Create(std::move(gpu_options)));
    KS_TRY(module_, vgpu::LoadedModule::Load(std::move(modules), gpu_->memory(), options_.files[0],
                                             vgpu::CpuFor(session_.settings.engine)));
    KS_TRY(const vgpu::EntryInfo* entry, FindEntry());
    KS_TRY(const std::vector<std::byte> parameters, MakeParameters(*entry));
    KS_TRY(const vgpu::LaunchResult result,
           gpu_->Launch({.module = module_.get(),
                         .entry = entry->name,
                         .grid = grid,
                         .block = block,
                         .dynamic_shared_bytes = options_.shared_bytes,
                         .parameters = parameters,
                         .cooperative = options_.cooperative}));
    if (session_.json) {
      Report(entry->name, result);
    } else {
      for (const Buffer& buffer : buffers_) PrintBuffer(buffer);
    }
    if (!result.fault) return kExitOk;
    PrintFault(*result.fault);
    return kExitRefuted;
  }

 private:
  void Print(std::string_view text) {
    // Under --json standard output is one document.
    if (session_.json) {
      printed_ += text;
    } else {
      session_.out << text;
    }
  }

  Result<const vgpu::EntryInfo*> FindEntry() {
    if (!options_.kernel.empty()) {
      const vgpu::EntryInfo* entry = module_->FindEntry(options_.kernel);
      if (entry != nullptr) return entry;
    }
    std::string names;
    for (const vgpu::EntryInfo* entry : module_->Entries()) names += " " + entry->name;
    if (!options_.kernel.empty()) {
      return InvalidInput(fmt::format("no kernel '{}' in {}; there is:{}", options_.kernel,
                                      options_.files[0], names.empty() ? " none" : names));
    }
    if (module_->Entries().size() == 1) return module_->Entries()[0];
    if (names.empty()) return InvalidInput(fmt::format("no kernel in {}", options_.files[0]));
    return InvalidInput(fmt::format("{} has several kernels, choose one with --kernel:{}",
                                    options_.files[0], names));
  }

  Result<uint64_t> AddressOf(const LaunchArgument& argument) {
    for (const Buffer& buffer : buffers_) {
      if (buffer.argument->name == argument.name) {
        return buffer.address + static_cast<uint64_t>(argument.offset);
      }
    }
    return InvalidInput(fmt::format("--arg &{}: no buffer of this name before it", argument.name));
  }

  Result<std::vector<std::byte>> MakeParameters(const vgpu::EntryInfo& entry) {
    if (arguments_.size() != entry.parameters.size()) {
      return InvalidInput(fmt::format("{} has {} parameters, but {} --arg are given", entry.name,
                                      entry.parameters.size(), arguments_.size()));
    }
    std::vector<std::byte> bytes(entry.parameter_bytes);
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const LaunchArgument& argument = arguments_[i];
      const vgpu::ParameterInfo& parameter = entry.parameters[i];
      std::vector<std::byte> value = argument.data;
      if (argument.kind != LaunchArgument::Kind::kScalar) {
        if (argument.kind == LaunchArgument::Kind::kBuffer) {
          KS_TRY(const uint64_t made, MakeBuffer(argument));
          buffers_.push_back({&argument, made});
        }
        KS_TRY(const uint64_t address, AddressOf(argument));
        value.resize(sizeof(address));
        std::memcpy(value.data(), &address, sizeof(address));
      }
      if (value.size() != parameter.size) {
        return InvalidInput(fmt::format("--arg {}: {} bytes, but parameter {} of {} has {}",
                                        options_.arguments[i], value.size(), i, entry.name,
                                        parameter.size));
      }
      std::memcpy(bytes.data() + parameter.offset, value.data(), value.size());
    }
    return bytes;
  }

  Result<uint64_t> MakeBuffer(const LaunchArgument& argument) {
    KS_TRY(const uint64_t address,
           gpu_->memory().Allocate(argument.data.size(), vgpu::AllocationKind::kDevice,
                                   "--arg " + argument.name));
    if (!argument.data.empty()) {
      std::memcpy(gpu_->memory().HostAlias(address, argument.data.size()), argument.data.data(),
                  argument.data.size());
    }
    return address;
  }

  const std::byte* Contents(const Buffer& buffer) const {
    return static_cast<const std::byte*>(
        gpu_->memory().HostAlias(buffer.address, buffer.argument->data.size()));
  }

  // Buffers that were given contents are input, unless the kernel changed them.
  bool IsOutput(const Buffer& buffer) const {
    const size_t size = buffer.argument->data.size();
    if (size == 0) return false;
    return !buffer.argument->initialised ||
           std::memcmp(Contents(buffer), buffer.argument->data.data(), size) != 0;
  }

  void PrintBuffer(const Buffer& buffer) {
    if (!IsOutput(buffer)) return;
    const ElementType& type = *buffer.argument->type;
    const std::byte* contents = Contents(buffer);
    const size_t count = buffer.argument->data.size() / type.bytes;
    for (size_t line = 0; line < count; line += kValuesPerLine) {
      session_.out << buffer.argument->name;
      if (count > kValuesPerLine) session_.out << fmt::format("[{}]", line);
      session_.out << " =";
      for (size_t i = line; i < count && i < line + kValuesPerLine; ++i) {
        session_.out << ' ' << FormatElement(type, contents + i * type.bytes, options_.hex);
      }
      session_.out << '\n';
    }
  }

  void PrintFault(const vgpu::Fault& fault) {
    const std::string kind = vgpu::FaultKindName(fault.kind);
    const bool named = fault.message.starts_with(kind);
    session_.err << FormatDiagnostic(
                        {.where = fault.ptx,
                         .message = named ? fault.message : kind + ": " + fault.message},
                        session_.ColorErr())
                 << '\n';
  }

  void Report(const std::string& kernel, const vgpu::LaunchResult& result) {
    nlohmann::json buffers = nlohmann::json::object();
    for (const Buffer& buffer : buffers_) {
      const ElementType& type = *buffer.argument->type;
      const std::byte* contents = Contents(buffer);
      nlohmann::json values = nlohmann::json::array();
      // As text: 64-bit integers, NaN and infinity have no safe number in JSON.
      for (size_t i = 0; i < buffer.argument->data.size() / type.bytes; ++i) {
        values.push_back(FormatElement(type, contents + i * type.bytes, options_.hex));
      }
      buffers[buffer.argument->name] = {{"type", type.name}, {"values", std::move(values)}};
    }
    nlohmann::json document = {{"kernel", kernel},
                               {"ok", !result.fault.has_value()},
                               {"printed", printed_},
                               {"buffers", std::move(buffers)},
                               {"statistics",
                                {{"blocks", result.statistics.blocks},
                                 {"warps", result.statistics.warps},
                                 {"warp_instructions", result.statistics.warp_instructions},
                                 {"lane_instructions", result.statistics.lane_instructions}}}};
    if (result.fault) {
      const vgpu::Fault& fault = *result.fault;
      const auto triple = [](Dim3 d) { return nlohmann::json::array({d.x, d.y, d.z}); };
      document["fault"] = {{"kind", Name(FindingKindOf(fault.kind))},
                           {"message", fault.message},
                           {"file", fault.ptx.file},
                           {"line", fault.ptx.line},
                           {"block", triple(fault.block)},
                           {"thread", triple(fault.thread)},
                           {"address", fault.address},
                           {"instruction", fault.instruction}};
    }
    session_.PrintJson(document);
  }

  Session& session_;
  const LaunchOptions& options_;
  std::vector<LaunchArgument> arguments_;
  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  std::unique_ptr<vgpu::LoadedModule> module_;
  std::vector<Buffer> buffers_;
  std::string printed_;
};

}  // namespace

void AddLaunch(CLI::App& app, Session& session) {
  auto options = std::make_shared<LaunchOptions>();
  CLI::App* command =
      app.add_subcommand("launch", "Run one kernel of a PTX file on the virtual GPU");
  command->fallthrough();
  command->add_option("file", options->files, "PTX files; several are linked")
      ->required()
      ->type_name("FILE.ptx");
  command->add_option("--kernel", options->kernel, "Which kernel; default: the only one")
      ->type_name("NAME");
  command->add_option("--grid", options->grid, "Blocks: x[,y,z]")->capture_default_str();
  command->add_option("--block", options->block, "Threads of a block: x[,y,z]")
      ->capture_default_str();
  command->add_option("--shared", options->shared_bytes, "Bytes of dynamic shared memory")
      ->type_name("BYTES");
  command
      ->add_option("--arg", options->arguments,
                   "A parameter, in order: u32=5, f32=1.5, out:f32[64], in:s32[8]=iota, "
                   "=fill:7, =random:SEED, =1,2,3, &in+16, bytes=0011")
      ->type_name("ARG")
      ->allow_extra_args(false);
  command->add_flag("--cooperative", options->cooperative,
                    "Launch cooperatively: all blocks are resident at the same time");
  command->add_flag("--hex", options->hex, "Print the bits of every value");
  command->callback([&session, options] {
    session.action = [&session, options] { return Launcher(session, *options).Run(); };
  });
}

}  // namespace kernelsmith

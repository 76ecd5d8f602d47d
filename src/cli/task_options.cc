#include "cli/task_options.h"

#include <fmt/format.h>

#include "verify/verify.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {
namespace {

constexpr char kTaskHelp[] =
    "A name of the suite, a model.py, a KernelBench file or a robust-kbench folder";

void Choose(DirectionChoice& choice, TaskDirection direction, const std::string& option) {
  if (!choice.Covers(direction)) {
    throw CLI::ValidationError(
        option, fmt::format("another option asks for the {} pass", Name(*choice.given)));
  }
  choice.given = direction;
}

}  // namespace

CLI::Option* AddTask(CLI::App& command, std::string& task, const std::string& operand) {
  return command.add_option(operand, task, kTaskHelp);
}

CLI::Option* AddTaskOption(CLI::App& command, std::string& task) {
  return command.add_option("--task", task, kTaskHelp);
}

CLI::Option* AddCandidate(CLI::App& command, std::string& candidate) {
  return command.add_option("candidate", candidate, "A .cu file");
}

std::vector<CLI::Option*> AddDirection(CLI::App& command, DirectionChoice& choice) {
  CLI::Option* direction =
      command
          .add_option_function<std::string>(
              "--direction",
              [&choice](const std::string& word) {
                Choose(choice,
                       word == "backward" ? TaskDirection::kBackward : TaskDirection::kForward,
                       "--direction");
              },
              "Which pass of the task: forward or backward")
          ->check(CLI::IsMember({"forward", "backward"}));
  CLI::Option* backward = command.add_flag_callback(
      "--backward", [&choice] { Choose(choice, TaskDirection::kBackward, "--backward"); },
      "The task's backward pass, as --direction backward");
  return {direction, backward};
}

CLI::Option* AddForward(CLI::App& command, DirectionChoice& choice) {
  return command.add_flag_callback(
      "--forward", [&choice] { Choose(choice, TaskDirection::kForward, "--forward"); },
      "Only the forward pass, as --direction forward");
}

CLI::Option* AddDtype(CLI::App& command, std::string& dtype) {
  return command.add_option("--dtype", dtype, "Type of the task's floats; task: its own")
      ->check(CLI::IsMember({"task", "float32", "float16", "bfloat16"}))
      ->capture_default_str();
}

CLI::Option* AddMode(CLI::App& command, std::string& mode) {
  return command
      .add_option("--mode", mode, "Mode of the task's model; task: as its code leaves it")
      ->check(CLI::IsMember({"task", "train", "eval"}))
      ->capture_default_str();
}

void AddShape(CLI::App& command, ShapeChoice& choice) {
  command.add_option("--group", choice.group, "Shapes of this group: quick, hidden or timing")
      ->capture_default_str();
  AddConfiguration(command, choice.configuration);
}

CLI::Option* AddConfiguration(CLI::App& command, std::string& configuration) {
  return command.add_option("--configuration", configuration,
                            "One shape by its name, as `kernelsmith tasks show` lists it");
}

CLI::Option* AddAllow(CLI::App& command, std::vector<std::string>& allow) {
  return command
      .add_option("--allow", allow,
                  "What may decide in kernels, with commas between: clocks, sm_ids, addresses, "
                  "uninitialised")
      ->delimiter(',')
      ->check(
          CLI::IsMember(std::vector<std::string>(std::begin(kAllowWords), std::end(kAllowWords))))
      ->option_text("WORD,...");
}

CLI::Option* AddGpu(CLI::App& command, std::string& gpu) {
  return command.add_option("--gpu", gpu, "The GPU, the default first: " + GpuModelKeys());
}

}  // namespace kernelsmith

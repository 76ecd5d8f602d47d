// The library's one function: analysis, code generation, LLVM's passes, machine code.

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <mutex>

#include "support/processor_clock.h"
#include "vgpu/jit/abi.h"
#include "vgpu/jit/analysis.h"
#include "vgpu/jit/codegen.h"

namespace kernelsmith::vgpu::jit {

namespace {

namespace orc = llvm::orc;

std::string Text(llvm::Error error) { return llvm::toString(std::move(error)); }

// Loops of a slice have no way to give way to others (CodeGenerator::CountBackEdge). Those that
// LLVM could not take away must end nevertheless, if only by giving up.
class LimitLoopsPass : public llvm::PassInfoMixin<LimitLoopsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    llvm::LoopInfo& loops = analyses.getResult<llvm::LoopAnalysis>(function);
    llvm::SmallVector<llvm::BasicBlock*, 8> heads;
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) heads.push_back(loop->getHeader());
    if (heads.empty()) return llvm::PreservedAnalyses::all();
    llvm::IRBuilder<> builder(function.getContext());
    builder.SetInsertPoint(&*function.getEntryBlock().getFirstInsertionPt());
    llvm::AllocaInst* left = builder.CreateAlloca(builder.getInt64Ty());
    builder.CreateStore(builder.getInt64(kMostTurns), left);
    llvm::BasicBlock* tired = llvm::BasicBlock::Create(function.getContext(), "tired", &function);
    for (llvm::BasicBlock* head : heads) {
      llvm::BasicBlock* rest = head->splitBasicBlock(head->getFirstInsertionPt(), "turn");
      head->getTerminator()->eraseFromParent();
      builder.SetInsertPoint(head);
      llvm::Value* now =
          builder.CreateSub(builder.CreateLoad(builder.getInt64Ty(), left), builder.getInt64(1));
      builder.CreateStore(now, left);
      builder.CreateCondBr(builder.CreateICmpEQ(now, builder.getInt64(0)), tired, rest,
                           llvm::MDBuilder(function.getContext()).createBranchWeights(1, 10'000));
    }
    // The first warp of the call stands for the one that ran: the launch is over.
    builder.SetInsertPoint(tired);
    builder.CreateStore(builder.getInt32(static_cast<uint32_t>(Outcome::kFault)),
                        builder.CreateConstGEP1_64(builder.getInt8Ty(), function.getArg(1),
                                                   offsetof(WarpContext, outcome)));
    builder.CreateRet(builder.getInt32(0));
    return llvm::PreservedAnalyses::none();
  }

 private:
  // For one call of the code; some seconds.
  static constexpr uint64_t kMostTurns = uint64_t{1} << 32;
};

// Short and by hand: most of the work is done by shapes. Compiling takes longer than running for
// many kernels, so each pass must earn its time.
void Optimise(llvm::Module& module, llvm::TargetMachine& machine, bool slice) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::PromotePass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::LoopSimplifyPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  if (slice) {
    // Loops that only count are replaced by what they count.
    llvm::LoopPassManager counting;
    counting.addPass(llvm::IndVarSimplifyPass());
    counting.addPass(llvm::LoopDeletionPass());
    passes.addPass(llvm::LoopSimplifyPass());
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(counting)));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(LimitLoopsPass());
    passes.addPass(llvm::PromotePass());
  }
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, functions);
  }
}

// A function of more instructions gets machine code in the cheapest way: LLVM's register allocator
// and instruction selection would take seconds for it, more than most such kernels ever run. (The
// sorting kernels of CUB are so large. Their code is some 5 % slower then, and made in half the
// time.)
constexpr size_t kMostForGoodCode = 30'000;

size_t InstructionsOf(const llvm::Module& module) {
  size_t count = 0;
  for (const llvm::Function& function : module) count += function.getInstructionCount();
  return count;
}

struct Owner {
  std::unique_ptr<orc::LLJIT> jit;
};

std::unique_ptr<CompiledKernel> Compile(const CompileRequest& request, std::string* why) {
  const auto begin = ProcessorClock::now();
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();  // for cold calls
    // The scheduler compares every access with all before it, up to this many: in the long blocks
    // of unrolled tensor-core kernels most of the time would go there (4.5 instead of 1.4 s).
    const char* const options[] = {"kernelsmith", "-dag-maps-huge-region=50"};
    llvm::cl::ParseCommandLineOptions(static_cast<int>(std::size(options)), options, "",
                                      &llvm::nulls());
  });
  const Analysis analysis(*request.kernel->entry, request.block);
  if (!analysis.why().empty()) {
    *why = analysis.why();
    return nullptr;
  }
  auto detected = orc::JITTargetMachineBuilder::detectHost();
  if (!detected) {
    *why = Text(detected.takeError());
    return nullptr;
  }
  orc::JITTargetMachineBuilder target = *detected;
  target.setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
  if (!target.getFeatures().getString().empty() &&
      target.getFeatures().getString().find("+avx2") == std::string::npos) {
    *why = "the machine has no AVX2";
    return nullptr;
  }
  auto machine = target.createTargetMachine();
  if (!machine) {
    *why = Text(machine.takeError());
    return nullptr;
  }
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("kernel", *context);
  module->setDataLayout((*machine)->createDataLayout());
  module->setTargetTriple((*machine)->getTargetTriple().str());
  CodeGenerator generator(request, analysis, *module);
  generator.Run();
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("min-legal-vector-width", "512");
    function.addFnAttr("target-cpu", (*machine)->getTargetCPU());
    function.addFnAttr("target-features", (*machine)->getTargetFeatureString());
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr(llvm::Attribute::NoRedZone);  // cold calls use the stack
    // Lets LLVM take away loops of which it does not know that they end.
    if (request.slice) function.addFnAttr(llvm::Attribute::MustProgress);
  }
  if (request.dump) module->print(llvm::errs(), nullptr);
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  if (llvm::verifyModule(*module, &stream)) {
    *why = "internal error: " + broken;
    return nullptr;
  }
  Optimise(*module, **machine, request.slice);
  if (request.dump) module->print(llvm::errs(), nullptr);
  if (InstructionsOf(*module) > kMostForGoodCode) {
    target.setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  }
  auto owner = std::make_shared<Owner>();
  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(target).create();
  if (!jit) {
    *why = Text(jit.takeError());
    return nullptr;
  }
  owner->jit = std::move(*jit);
  if (auto error =
          owner->jit->addIRModule(orc::ThreadSafeModule(std::move(module), std::move(context)))) {
    *why = Text(std::move(error));
    return nullptr;
  }
  auto symbol = owner->jit->lookup(CodeGenerator::kName);
  if (!symbol) {
    *why = Text(symbol.takeError());
    return nullptr;
  }
  auto compiled = std::make_unique<CompiledKernel>();
  compiled->code = symbol->toPtr<Code>();
  generator.Describe(*compiled);
  for (uint32_t pc = 0; pc < request.kernel->entry->code.size(); ++pc) {
    compiled->block_of_pc.push_back(analysis.block_of(pc));
  }
  compiled->keep = owner;
  compiled->compile_ms =
      std::chrono::duration<double, std::milli>(ProcessorClock::now() - begin).count();
  return compiled;
}

}  // namespace
}  // namespace kernelsmith::vgpu::jit

extern "C" __attribute__((visibility("default"))) const char kernelsmith_jit_abi[] = KS_JIT_ABI;

extern "C" __attribute__((visibility("default"))) kernelsmith::vgpu::jit::CompiledKernel*
kernelsmith_jit_compile(const kernelsmith::vgpu::jit::CompileRequest& request, std::string* why) {
  return kernelsmith::vgpu::jit::Compile(request, why).release();
}

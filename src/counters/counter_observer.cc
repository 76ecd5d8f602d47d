#include "counters/counter_observer.h"

#include "counters/launch_count.h"

namespace kernelsmith::counters {

CounterObserver::CounterObserver(CounterOptions options)
    : options_(std::move(options)), l2_(static_cast<uint64_t>(options_.gpu->l2_bytes)) {}

CounterObserver::~CounterObserver() = default;

void CounterObserver::FlushL2() {
  const std::lock_guard lock(mutex_);
  l2_.Clear();
}

void CounterObserver::OnLaunchBegin(const vgpu::LaunchInfo& launch) {
  mutex_.lock();
  const ptx::Module* module = launch.code->entry->module;
  if (options_.on_module && modules_.insert(module).second) options_.on_module(*module);
  auto& place = running_[launch.id];
  place = std::make_unique<Launch>(launch, options_, l2_);
  current_ = place.get();
}

vgpu::BlockChoice CounterObserver::ChooseBlocks(const vgpu::LaunchInfo&) {
  return current_->Choose();
}

bool CounterObserver::WantsMoreBlocks() { return current_->WantsMore(); }

void CounterObserver::OnLaunchEnd(const vgpu::Fault* fault) {
  launches_.push_back(current_->Finish(fault));
  if (options_.on_launch) options_.on_launch(launches_.back());
  std::erase_if(running_, [&](const auto& each) { return each.second.get() == current_; });
  current_ = nullptr;
  mutex_.unlock();
}

void CounterObserver::OnPause(uint64_t) { mutex_.unlock(); }

void CounterObserver::OnResume(uint64_t launch_id) {
  mutex_.lock();
  current_ = running_.at(launch_id).get();
}

void CounterObserver::OnBlockBegin(uint64_t block_number) { current_->BeginBlock(block_number); }

void CounterObserver::BeforeInstruction(vgpu::WarpView& warp, const vgpu::Instruction& in,
                                        uint32_t mask) {
  current_->Execute(warp, in, mask);
}

void CounterObserver::AfterInstruction(vgpu::WarpView&, const vgpu::Instruction&, uint32_t) {
  current_->EndInstruction();
}

bool CounterObserver::OnMemoryAccess(vgpu::WarpView&, const vgpu::MemoryAccess& access) {
  current_->Access(access);
  return true;
}

void CounterObserver::OnBarrier(vgpu::WarpView&, const vgpu::BarrierEvent& event) {
  if (event.kind != vgpu::BarrierEvent::Kind::kReleased) current_->Barrier();
}

}  // namespace kernelsmith::counters

#include "pmemsim/machine/memory/memory.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "pmemsim/machine/memory/channel.hpp"
#include "pmemsim/machine/memory/mapping.hpp"
#include "pmemsim/machine/memory/memory_parameters.hpp"
#include "pmemsim/machine/memory/memory_statistics.hpp"

namespace pmemsim {

struct Memory::Implementation {
  Implementation(EventQueue& events, const MemoryParameters& p, Contents contents,
                 PageFrames frames, std::span<std::uint32_t> operations)
      : queue(events), banks(p.banks()), mapping(p, frames) {
    if (const auto problems = p.problems(); !problems.empty()) throw ConfigError(problems);
    for (std::uint32_t i = 0; i < p.controllers; ++i) {
      links.push_back(std::make_unique<LinkPair>(p));
    }
    for (std::uint32_t i = 0; i < p.channels(); ++i) {
      channels.push_back(std::make_unique<Channel>(events, p, *links[i % p.controllers],
                                                   contents == Contents::kKept ? &device : nullptr,
                                                   operations.subspan(i * banks, banks)));
    }
  }

  EventQueue& queue;
  PersistenceObserver* observer = nullptr;
  std::uint32_t banks;  // banks in a channel
  Mapping mapping;
  Image device;
  std::vector<std::unique_ptr<LinkPair>> links;
  std::vector<std::unique_ptr<Channel>> channels;
  mutable MemoryStatistics statistics;
};

Memory::Memory(EventQueue& queue, const MemoryParameters& parameters, Contents contents,
               PageFrames frames)
    : operations_(std::size_t{parameters.channels()} * parameters.banks()),
      implementation_(
          std::make_unique<Implementation>(queue, parameters, contents, frames, operations_)) {}

Memory::~Memory() = default;

void Memory::read(Line line, Completion done) {
  const DeviceLocation location = implementation_->mapping.locate(line);
  implementation_->channels[location.channel]->read(line, location, done);
}

WriteId Memory::write(const Write& write) {
  const DeviceLocation location = implementation_->mapping.locate(write.line);
  return {location.channel, implementation_->channels[location.channel]->write(write, location)};
}

WriteId Memory::write_reserved(const Write& write) {
  const DeviceLocation location = implementation_->mapping.locate(write.line);
  return {location.channel,
          implementation_->channels[location.channel]->write_reserved(write, location)};
}

bool Memory::write_together(std::span<const Write> writes, bool first_reserved,
                            std::span<WriteId> ids) {
  const auto locate = [this](const Write& write) {
    return implementation_->mapping.locate(write.line);
  };
  for (const Write& one : writes) {
    const std::uint32_t channel = locate(one).channel;
    const auto needed = static_cast<std::uint32_t>(std::ranges::count_if(
        writes.subspan(first_reserved ? 1 : 0),
        [&](const Write& other) { return locate(other).channel == channel; }));
    if (!implementation_->channels[channel]->has_free_entries(needed)) return false;
  }
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const DeviceLocation where = locate(writes[i]);
    const bool reserved = first_reserved && i == 0;
    const bool more_follow = i + 1 < writes.size();
    ids[i] = {where.channel, implementation_->channels[where.channel]->write_now(
                                 writes[i], where, reserved, more_follow)};
  }
  return true;
}

void Memory::await_any_free_entry(Completion freed) {
  for (const auto& channel : implementation_->channels) channel->await_any_free_entry(freed);
}

void Memory::set_largest_group(std::uint32_t writes) {
  for (const auto& channel : implementation_->channels) channel->set_unreservable(writes);
}

bool Memory::writes_wait(Line line) const {
  return implementation_->channels[channel_of(line)]->admissions().writes_wait();
}

void Memory::await_admission(Line line, Completion admitted) {
  implementation_->channels[channel_of(line)]->admissions().await(admitted);
}

bool Memory::reserve(std::uint32_t channel) {
  return implementation_->channels[channel]->reserve();
}

bool Memory::can_reserve(std::uint32_t channel, std::uint32_t entries) const {
  return implementation_->channels[channel]->can_reserve(entries);
}

void Memory::await_entry(std::uint32_t channel, Completion free) {
  implementation_->channels[channel]->await_entry(free);
}

void Memory::release(std::uint32_t channel) { implementation_->channels[channel]->release(); }

bool Memory::drop(WriteId id) {
  return id.channel < implementation_->channels.size() &&
         implementation_->channels[id.channel]->drop(id.number);
}

bool Memory::find(Line line, WriteKind kind, WriteId& id) const {
  id.channel = channel_of(line);
  return implementation_->channels[id.channel]->writes().find(line, kind, id.number);
}

const Write* Memory::pending(WriteId id) const {
  if (id.channel >= implementation_->channels.size()) return nullptr;
  return implementation_->channels[id.channel]->writes().pending(id.number);
}

std::uint32_t Memory::channel_of(Line line) const {
  return implementation_->mapping.locate(line).channel;
}

std::uint32_t Memory::bank_of(Line line) const {
  const DeviceLocation location = implementation_->mapping.locate(line);
  return location.channel * implementation_->banks + location.bank;
}

LineData Memory::newest(Line line) const {
  const Write pending = implementation_->channels[channel_of(line)]->writes().combined(line);
  LineData data = implementation_->device.read(line);
  take_bytes(data, pending.data, pending.bytes);
  return data;
}

const Image& Memory::device() const { return implementation_->device; }
Image& Memory::device() { return implementation_->device; }

void Memory::for_each_accepted(void (*visit)(void* context, const Write&), void* context) const {
  for (const auto& channel : implementation_->channels) {
    channel->writes().for_each_accepted([&](const Write& write) { visit(context, write); });
  }
}

LineData Memory::surviving(Line line) const {
  LineData data = implementation_->device.read(line);
  implementation_->channels[channel_of(line)]->writes().apply_accepted(line, data);
  return data;
}

void Memory::observe(PersistenceObserver* observer) {
  implementation_->observer = observer;
  for (const auto& channel : implementation_->channels) channel->observe(observer);
}

void Memory::log_stages(StageLog* stages) {
  std::uint32_t number = 0;
  for (const auto& channel : implementation_->channels) channel->log_stages(stages, number++);
}

void Memory::profile(RequestStages* stages) {
  for (const auto& channel : implementation_->channels) channel->profile(stages);
}

void Memory::survivors_changed() {
  PersistenceObserver* const observer = implementation_->observer;
  if (observer != nullptr) observer->survivors_changed(implementation_->queue.now());
}

void Memory::persisted_in_caches(Line line, const LineData& data) {
  PersistenceObserver* const observer = implementation_->observer;
  if (observer != nullptr) {
    observer->persisted_in_caches(line, data, implementation_->queue.now());
  }
}

bool Memory::idle() const {
  for (const auto& channel : implementation_->channels) {
    if (!channel->idle()) return false;
  }
  return true;
}

void Memory::drain() {
  for (const auto& channel : implementation_->channels) channel->drain();
}

std::string Memory::describe_pending() const {
  std::string text;
  for (std::size_t i = 0; i < implementation_->channels.size(); ++i) {
    const Channel& channel = *implementation_->channels[i];
    if (channel.idle()) continue;
    text +=
        fmt::format("{}channel {}: {}", text.empty() ? "" : "; ", i, channel.describe_pending());
  }
  return text;
}

const MemoryStatistics& Memory::statistics() const {
  MemoryStatistics& total = implementation_->statistics;
  total = {};
  for (const auto& channel : implementation_->channels) {
    total += channel->statistics();
  }
  return total;
}

}  // namespace pmemsim

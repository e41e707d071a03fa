#include "pmemsim/designs/backend/encryption.hpp"

#include "pmemsim/designs/backend/keys.hpp"

namespace pmemsim {

Encryption::Encryption(const EncryptionParameters& parameters)
    : parameters_(parameters), cipher_(encryption_key()) {}

void Encryption::connect(EventQueue& queue, const Memory&, MetadataPort& backend) {
  queue_ = &queue;
  backend_ = &backend;
}

void Encryption::share(LineEntries& entries) {
  entries_ = &entries;
  entries.seals().cipher = &cipher_;
}

std::vector<SubOperation> Encryption::sub_operations() const {
  return {
      {.name = "E1", .external = {.address = true}, .unless_duplicate = true},
      {.name = "E2",
       .latency = parameters_.aes_latency,
       .work = WorkKind::kPad,
       .external = {.address = true},
       .after = {"E1"},
       .unless_duplicate = true},
      {.name = "E3",
       .external = {.data = true},
       .after = {"E2", "D2", "C1"},
       .unless_duplicate = true},
  };
}

std::optional<Line> Encryption::look_up(std::uint32_t number, const Prediction& subject) {
  if (number != 0) return {};
  return entries_->look_up_entry(*subject.line);
}

bool Encryption::read(Line line, Completion done) {
  const std::uint32_t slot = reads_.take();
  reads_[slot] = done;
  if (const auto missing = entries_->look_up_entry(line)) {
    backend_->read_metadata(*missing, completion<&Encryption::make_pad>(*this, slot));
  } else {
    make_pad(slot, queue_->now());
  }
  return false;
}

void Encryption::make_pad(std::uint64_t slot, Time now) {
  ++statistics_.read_pads;
  queue_->schedule(now + parameters_.aes_latency, Phase::kController,
                   completion<&Encryption::pad_made>(*this, slot));
}

void Encryption::pad_made(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  const Completion done = reads_[slot];
  reads_.release(slot);
  done(now);
}

void Encryption::encode(const Write&, const Prepared& prepared, Encoded& encoded) const {
  if (encoded.duplicate) return;
  entries_->begin_seal(encoded);
  if (!entries_->sealed()) return;
  const std::uint64_t before = entries_->seal_at(encoded.place).counter;
  if (parameters_.faults.counter && before != 0) encoded.seal.counter = before;
  const std::uint64_t pad = prepared.counter_outdated ? before : encoded.seal.counter;
  encoded.data = cipher_.apply(encoded.place, pad, encoded.data);
}

void Encryption::accepted(const Write& write, const Encoded& encoded) {
  if (!encoded.duplicate) backend_->metadata_changed(write.line);
}

LineData Encryption::decode(Line place, const LineData& data) const {
  if (!entries_->sealed()) return data;
  const std::uint64_t counter = entries_->seal_at(place).counter;
  return counter == 0 ? data : cipher_.apply(place, counter, data);
}

void Encryption::statistics(StatisticsCollector& collector) const {
  collector.group("encryption", statistics_);
}

void Encryption::add_registers(SurvivingRegisters& registers) const {
  registers.add_operation("encryption");
  registers.encryption_key = encryption_key();
}

}  // namespace pmemsim

#include "pmemsim/designs/backend/oram.hpp"

#include "pmemsim/common/mix.hpp"

namespace pmemsim {
namespace {

constexpr std::uint64_t kTree = std::uint64_t{1} << 57;  // first line number of the tree

}  // namespace

void Oram::connect(EventQueue& queue, const Memory&, MetadataPort& backend) {
  queue_ = &queue;
  backend_ = &backend;
}

std::vector<SubOperation> Oram::sub_operations() const {
  return {{.name = "O1", .latency = parameters_.latency, .external = {.address = true}}};
}

std::optional<Line> Oram::look_up(std::uint32_t, const Prediction&) {
  access({});
  return {};
}

bool Oram::read(Line, Completion done) {
  access(done);
  return false;
}

// Implements rule 1 (oram.hpp).
void Oram::access(Completion done) {
  const std::uint64_t leaf =
      mix(mix(parameters_.seed) + ++statistics_.accesses) >> (64 - parameters_.levels - 1) >> 1;
  const std::uint32_t slot = accesses_.take();
  accesses_[slot] = {leaf, done};
  statistics_.path_lines += path_lines();
  for (std::uint32_t i = 0; i < path_lines(); ++i) {
    backend_->read_metadata(path_line(leaf, i), {});
  }
  queue_->schedule(queue_->now() + parameters_.latency, Phase::kController,
                   completion<&Oram::write_back>(*this, slot));
}

void Oram::write_back(std::uint64_t number, Time now) {
  const auto slot = static_cast<std::uint32_t>(number);
  const Access access = accesses_[slot];
  accesses_.release(slot);
  for (std::uint32_t i = 0; i < path_lines(); ++i) {
    backend_->write_metadata(path_line(access.leaf, i), {});
  }
  if (access.done) access.done(now);
}

// Returns a line of a path. Buckets are numbered level by level, from the root: 1.
Line Oram::path_line(std::uint64_t leaf, std::uint32_t number) const {
  const std::uint32_t level = number / parameters_.bucket_lines;
  const std::uint64_t bucket =
      ((std::uint64_t{1} << parameters_.levels) + leaf) >> (parameters_.levels - level);
  return {kTree + bucket * parameters_.bucket_lines + number % parameters_.bucket_lines};
}

}  // namespace pmemsim

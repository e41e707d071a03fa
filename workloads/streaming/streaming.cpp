// streaming: long runs of stores to PM, line after line, and hardly any loads of it: the
// "write-dominant streaming applications" that overflow PMEM-Spec's speculation buffer (ASPLOS
// 2021, 7).
//
// One region replaces a random slot's block by a new one with new data. New memory needs no log, so
// all but two of the lines that it writes are data.
//
// In PM: Root {Header header; u64 slots}, where slots is the address of header.items lines {u64
// block} with the addresses of blocks. Block {u64 key, stamp; from byte 64 on: the data}, which are
// the words word(key, stamp, index) of the payload; key is the slot's number.
//
// Locks: slot i has lock i % 1024.
#include <mutex>
#include <vector>

#include "item.hpp"
#include "random.hpp"
#include "requests.hpp"
#include "workload.hpp"

namespace {

class Streaming {
 public:
  static constexpr workload::About kAbout = {
      "streaming",
      "Replaces a block of data by a new one, in every atomic region: little but stores to one\n"
      "line after the other. --data-bytes is the size of a block's data.",
      10000, 4096};

  static std::uint64_t pool_bytes(const workload::Options& options) {
    return workload::pool_bytes_for(options, options.items + options.threads);
  }

  Streaming(pm_pool* pool, const workload::Options& options) : Streaming(pool) {
    workload::describe(root_->header, kAbout, options);
    root_->slots =
        static_cast<Slot*>(workload::require(pm_alloc(pool, options.items * sizeof(Slot))));
    workload::Random random(options.seed, 0);
    workload::NewItem item(options.data_bytes);
    for (std::uint64_t slot = 0; slot < options.items; ++slot) {
      item.make(root_->header.payload(), slot, random.next());
      root_->slots[slot].block = store(item);
      pm_flush(root_->slots[slot].block, sizeof(Block) + options.data_bytes);
    }
    pm_flush(root_->slots, options.items * sizeof(Slot));
    pm_flush(root_, sizeof *root_);
    workload::set_ready(root_->header);
  }

  explicit Streaming(pm_pool* pool) : pool_(pool), root_(workload::root_of<Root>(pool)) {}

  class Source {
   public:
    using Request = workload::NewItem;

    Source(const workload::Header& header, const workload::Work& work)
        : header_(header), random_(work.random()) {}

    Request empty() const { return Request(header_.data_bytes); }
    void draw(Request& item) {
      const std::uint64_t slot = random_.below(header_.items);
      item.make(header_.payload(), slot, random_.next());
    }

   private:
    const workload::Header& header_;
    workload::Random random_;
  };

  workload::Requests<Source> draw(const workload::Work& work) const {
    return {Source(root_->header, work), work.regions,
            workload::padded(root_->header.data_bytes) + sizeof(workload::NewItem)};
  }

  workload::Tally run(const workload::Work& work, workload::Requests<Source>& requests) {
    for (std::uint64_t i = 0; i < work.regions; ++i) {
      const workload::NewItem& item = requests.next();
      Slot& slot = root_->slots[item.key];
      const std::lock_guard guard(locks_[item.key % locks_.size()]);
      pm_begin(pool_);
      Block* const block = store(item);
      pm_free(pool_, slot.block);
      pm_log(&slot, sizeof slot);
      slot.block = block;
      pm_end();
    }
    return {};
  }

  workload::Check check() const {
    const workload::Payload payload = root_->header.payload();
    for (std::uint64_t slot = 0; slot < root_->header.items; ++slot) {
      const Block& block = *root_->slots[slot].block;
      if (block.key != slot || !payload.matches(workload::data_of(&block), slot, block.stamp))
        return {"slot " + std::to_string(slot) + " holds no whole block of its own"};
    }
    return {"", root_->header.items};
  }

 private:
  struct alignas(PM_LINE_BYTES) Block {
    std::uint64_t key, stamp;
  };
  struct alignas(PM_LINE_BYTES) Slot {
    Block* block;
  };
  struct Root {
    workload::Header header;
    Slot* slots;
  };

  Block* store(const workload::NewItem& item) {
    Block* const block =
        static_cast<Block*>(workload::require(pm_alloc(pool_, sizeof(Block) + item.data_bytes())));
    block->key = item.key;
    block->stamp = item.stamp;
    item.store_data(block);
    return block;
  }

  pm_pool* pool_;
  Root* root_;
  std::vector<std::mutex> locks_ = std::vector<std::mutex>(1024);
};

}  // namespace

int main(int argc, char** argv) { return workload::main<Streaming>(argc, argv); }

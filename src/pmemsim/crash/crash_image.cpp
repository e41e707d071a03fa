#include "pmemsim/crash/crash_image.hpp"

#include <algorithm>
#include <cstring>

namespace pmemsim {
namespace {

bool same_words(const ProgramHistory& history, Line line, const LineData& one,
                const LineData& other) {
  const ProgramHistory::LineWords* words = history.line(line);
  if (words == nullptr) return true;
  for (std::size_t i = 0; i < words->size(); ++i) {
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    if ((*words)[i] == ProgramHistory::kNone) continue;
    if (std::memcmp(one.data() + i * kBytes, other.data() + i * kBytes, kBytes) != 0) return false;
  }
  return true;
}

}  // namespace

CrashImage::CrashImage(const Memory& pm, const Image& plain, Recovery& recovery,
                       ImageDecoder* decoder)
    : recovery_(recovery), decoder_(decoder) {
  plain.for_each_page([&](std::uint64_t address, const std::byte* page) {
    image_.write(address, page, Image::kPageBytes);
    for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
      const Line line = Line::of(address + at);
      recovery_.changed(line, image_.read(line));
    }
  });
  if (decoder_ == nullptr) return;
  decoder_->begin(pm.device());
  pm.device().for_each_page([&](std::uint64_t address, const std::byte* page) {
    device_.write(address, page, Image::kPageBytes);
  });
}

LineData CrashImage::on_device(Line device_line) const {
  return decoder_ != nullptr ? device_.read(device_line) : survived(device_line);
}

void CrashImage::update_on_device(Line device_line, const LineData& data) {
  if (decoder_ == nullptr) return update_line(device_line, data);
  device_.write(device_line, data);
  decoder_->changed(device_line, data,
                    [this](Line line, const LineData& read) { update_line(line, read); });
}

void CrashImage::registers_changed() {
  if (decoder_ == nullptr) return;
  decoder_->registers_changed([this](Line line, const LineData& read) { update_line(line, read); });
}

CrashImage::Decoded CrashImage::decoded(Line device_line, const LineData& data) {
  if (decoder_ == nullptr) return {{{device_line, data}}, {}};
  Decoded decoded;
  decoder_->changed(device_line, data, [&](Line line, const LineData& read) {
    decoded.lines.emplace_back(line, read);
  });
  decoded.problem = decoder_->problem();
  decoder_->changed(device_line, device_.read(device_line), [](Line, const LineData&) {});
  return decoded;
}

void CrashImage::update_line(Line line, const LineData& data) {
  write(line, data);
  changed_.push_back(line);
}

void CrashImage::write(Line line, const LineData& data) {
  recovery_.changed(line, data);
  const auto overwritten = overwritten_.find(line.number);
  if (overwritten == overwritten_.end()) {
    image_.write(line, data);
    return;
  }
  differing_ -= overwritten->second.differs;
  overwritten->second = {data, data != image_.read(line)};
  differing_ += overwritten->second.differs;
}

LineData CrashImage::survived(Line line) const {
  const auto overwritten = overwritten_.find(line.number);
  return overwritten == overwritten_.end() ? image_.read(line) : overwritten->second.survived;
}

LineData CrashImage::before_recovery(Line line) const {
  if (keeps_result_) return survived(line);
  const auto written = std::find_if(journal_.writes.begin(), journal_.writes.end(),
                                    [&](const auto& write) { return write.line == line; });
  return written == journal_.writes.end() ? image_.read(line) : written->before;
}

void CrashImage::recover() {
  journal_.clear();
  if (decoder_ != nullptr) {
    if (const std::string problem = decoder_->problem(); !problem.empty()) {
      throw RecoveryError(problem);
    }
  }
  if (keeps_result_) prepare_next_run();
  recovery_.run({image_, &journal_});
  for (const auto& write : journal_.writes) changed_.push_back(write.line);
  keeps_result_ = recovery_.may_keep_image();
  if (keeps_result_) note_overwritten();
}

void CrashImage::prepare_next_run() {
  if (const auto lines = recovery_.prepare_next_run({image_, &journal_})) {
    for (const Line line : *lines) restore(line);
    return;
  }
  for (const auto& [number, overwritten] : overwritten_) {
    image_.write({number}, overwritten.survived);
    changed_.push_back({number});
  }
  overwritten_.clear();
  differing_ = 0;
}

void CrashImage::restore(Line line) {
  const auto overwritten = overwritten_.find(line.number);
  if (overwritten == overwritten_.end())
    return;  // Recovery never wrote this line, despite its report
  image_.write(line, overwritten->second.survived);
  changed_.push_back(line);
  differing_ -= overwritten->second.differs;
  overwritten_.erase(overwritten);
}

void CrashImage::note_overwritten() {
  for (const auto& write : journal_.writes) {
    Overwritten& overwritten =
        overwritten_.try_emplace(write.line.number, write.before, false).first->second;
    differing_ -= overwritten.differs;
    overwritten.differs = overwritten.survived != write.after;
    differing_ += overwritten.differs;
  }
}

bool CrashImage::repaired() const {
  if (keeps_result_) return differing_ > 0;
  return std::any_of(journal_.writes.begin(), journal_.writes.end(),
                     [](const auto& write) { return write.before != write.after; });
}

void CrashImage::undo_recovery() {
  if (!keeps_result_) undo(journal_);
}

void CrashImage::undo(const RecoveryJournal& journal) {
  for (auto write = journal.writes.rbegin(); write != journal.writes.rend(); ++write) {
    this->write(write->line, write->before);
  }
}

bool CrashImage::survives_restarts(const ProgramHistory& history, std::uint64_t& restarts) {
  const auto same_write = [](const auto& one, const auto& other) {
    return one.line == other.line && one.after == other.after;
  };
  if (!journal_.read.overlaps(journal_.written) ||
      std::equal(journal_.writes.begin(), journal_.writes.end(), restarted_.begin(),
                 restarted_.end(), same_write)) {
    return true;
  }
  restarted_ = journal_.writes;
  note_recovered();
  bool same = true;
  for (std::size_t stop = 1; stop < journal_.writes.size() && same; ++stop) {
    write(journal_.writes[stop - 1].line, journal_.writes[stop - 1].after);
    again_.clear();
    try {
      recovery_.run({image_, &again_});
    } catch (const RecoveryError&) {
      same = false;
    }
    ++restarts;
    same = same && is_recovered(history);
    undo(again_);
  }
  undo_recovery();
  return same;
}

void CrashImage::note_recovered() {
  recovered_lines_.clear();
  for (const auto& write : journal_.writes) {
    LineData* const known = recovered_lines_.find(write.line);
    (known != nullptr ? *known : recovered_lines_.insert(write.line)) = write.after;
  }
}

bool CrashImage::is_recovered(const ProgramHistory& history) const {
  const auto is_right = [&](const RecoveryJournal::Write& write) {
    return same_words(history, write.line, read(write.line), *recovered_lines_.find(write.line));
  };
  const auto is_harmless = [&](const RecoveryJournal::Write& write) {
    return recovered_lines_.find(write.line) != nullptr ||
           same_words(history, write.line, write.before, write.after);
  };
  return std::ranges::all_of(journal_.writes, is_right) &&
         std::ranges::all_of(again_.writes, is_harmless);
}

void CrashImage::replace(const std::vector<std::pair<Line, LineData>>& lines) {
  for (const auto& [line, data] : lines) {
    replaced_.writes.push_back({line, survived(line), data});
    update_line(line, data);
  }
}

void CrashImage::undo_replacement() {
  undo(replaced_);
  replaced_.clear();
  if (!keeps_result_) changed_ = recovered_;  // Otherwise, keep lines whose repair was undone
}

void CrashImage::forget_repetitions() {
  if (changed_.size() < most_changed_) return;
  std::ranges::sort(changed_);
  changed_.erase(std::ranges::unique(changed_).begin(), changed_.end());
  most_changed_ = std::max(kFewChanged, 2 * changed_.size());
}

void CrashImage::mark_checked() {
  recovered_.clear();
  for (const auto& write : journal_.writes) recovered_.push_back(write.line);
  changed_ = recovered_;
}

}  // namespace pmemsim

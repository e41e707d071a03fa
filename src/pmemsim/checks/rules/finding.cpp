#include "pmemsim/checks/rules/finding.hpp"

#include <array>

namespace pmemsim::check {
namespace {

constexpr std::array<std::string_view, kKinds> kKindNames{
    "never-flushed",       "stored-after-flush",  "flushed-not-fenced",
    "published-unflushed", "nt-not-fenced",       "locked-fence-only",
    "flushed-by-another",  "not-logged",          "logged-late",
    "logged-by-two",       "reads-unpersisted",   "could-read-unpersisted",
    "could-lose-update",   "replies-unpersisted", "used-after-free",
    "volatile-pointer",    "torn-publish",        "leaked",
    "logged-twice",        "useless-flush",       "useless-fence",
};

constexpr std::array<std::string_view, kReasons> kReasonNames{
    "",          "published",      "region_end",   "unlock",      "end",
    "clean",     "flushed_before", "outside_pm",   "stored",      "loaded",
    "tag_bits",  "sequence",       "unreferenced", "unseen_path", "file",
    "own_store", "branch",         "undo_log",     "redo_log",    "free_list",
};

}  // namespace

std::string_view name_of(Kind kind) { return kKindNames.at(static_cast<std::size_t>(kind)); }
std::string_view name_of(Reason reason) {
  return kReasonNames.at(static_cast<std::size_t>(reason));
}

}  // namespace pmemsim::check

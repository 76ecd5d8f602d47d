// What most wrong candidates fail at, in a fraction of the time of a verification.
#pragma once

#include "verify/verify.h"

namespace kernelsmith {

// The first shape alone under the checkers, and its numbers: the stages of Verify() up to
// `numbers`, with few inputs. A verdict that is not `verified` is as good as Verify()'s; `verified`
// only says that a whole verification is worth its time.
Result<Verdict> QuickVerify(const Task& task, Candidate& candidate, VerifyOptions options,
                            const VerifyTools& tools);

}  // namespace kernelsmith

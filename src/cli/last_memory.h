/* last_memory.h - from a moment on, nothing of the program's memory is freed.
 *
 * While MPI ends, the thread of PMIx's client goes on with events that the launcher sends, and uses their handlers
 * after they were freed (libpmix 4.2.2, pmix_invoke_local_event_hdlr): once in some thousand jobs, more often on a busy
 * machine. Then the job ends with a signal behind a report that is right. tests/torture/finish.py counts it. */
#pragma once

/* Before MPI ends, as the last thing. Where another allocator is built in (a sanitizer) nothing changes. */
void cli_keep_memory(void);

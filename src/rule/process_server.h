/* process_server.h - what the process of a rule does: loads its module, and answers what rule_process.h asks. */
#pragma once

/* Serves until the connection at ASSAY_RULE_SOCKET is closed or the process `parent` is no more. Never returns. */
_Noreturn void assay_rule_process_serve(long parent, const char *module);

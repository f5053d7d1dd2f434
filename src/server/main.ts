/** The server's own process: started by the extension over IPC, or `node dist/server.js --stdio`. `ikbo lsp` loads it, too. */
import { serve, serveStdio } from './serve';

export { serveStdio };

if (require.main === module) serve();

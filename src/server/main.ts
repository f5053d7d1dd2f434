/** The server's own process: started by the extension over IPC, or `node dist/server.js --stdio`. */
import { serve } from './serve';

serve();

import { join, startTcpServer, type TcpServer } from "./tcp_server.ts";
import { testCertificate } from "./test_certificate.ts";

/** Starts a server that decrypts TLS with the tests' certificate and forwards the bytes to a port of this machine. */
export function startSecureHop(port: number): TcpServer {
  const { cert, key } = testCertificate;
  return startTcpServer((near) => join(near, port), { cert, key });
}

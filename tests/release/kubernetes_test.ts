import assert from "node:assert/strict";
import { z } from "zod";
import { VERSION } from "../../src/base/version.ts";
import { configOf, loadText } from "../support/gateway/config.ts";
import { parseYaml } from "../support/yaml.ts";

// The fields and their types follow the API reference of Kubernetes 1.30
// (https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.30/), as far as the file uses them.

const NAME = "model-gateway";

const labels = z.strictObject({ "app.kubernetes.io/name": z.literal(NAME) });

const selector = z.strictObject({ matchLabels: labels });

const metadata = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]{1,63}$/),
  labels,
});

const port = z.int().min(1).max(65_535);

const portName = z.string().regex(/^[a-z0-9-]{1,15}$/);

const probe = z.strictObject({
  httpGet: z.strictObject({
    path: z.enum(["/livez", "/readyz"]),
    port: portName,
  }),
  periodSeconds: z.int().min(1),
  timeoutSeconds: z.int().min(1).optional(),
  failureThreshold: z.int().min(1),
});

const quantity = z.string().regex(/^\d+(m|Mi|Gi)?$/);

const container = z.strictObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()),
  ports: z.array(z.strictObject({ name: portName, containerPort: port })),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  lifecycle: z.strictObject({
    preStop: z.strictObject({
      sleep: z.strictObject({ seconds: z.int().min(1) }),
    }),
  }),
  resources: z.strictObject({
    requests: z.strictObject({ cpu: quantity, memory: quantity }),
    limits: z.strictObject({ memory: quantity }),
  }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal("ALL")]) }),
  }),
  volumeMounts: z.array(z.strictObject({
    name: z.string(),
    mountPath: z.string().startsWith("/"),
    readOnly: z.literal(true),
  })),
});

const pod = z.strictObject({
  automountServiceAccountToken: z.literal(false),
  terminationGracePeriodSeconds: z.int(),
  securityContext: z.strictObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.int().min(1),
    runAsGroup: z.int().min(1),
    fsGroup: z.int().min(1),
    seccompProfile: z.strictObject({ type: z.literal("RuntimeDefault") }),
  }),
  topologySpreadConstraints: z.array(z.strictObject({
    maxSkew: z.int().min(1),
    topologyKey: z.string(),
    whenUnsatisfiable: z.enum(["ScheduleAnyway", "DoNotSchedule"]),
    labelSelector: selector,
  })),
  containers: z.tuple([container]),
  volumes: z.array(z.union([
    z.strictObject({
      name: z.string(),
      configMap: z.strictObject({ name: z.string() }),
    }),
    z.strictObject({
      name: z.string(),
      secret: z.strictObject({
        secretName: z.string(),
        defaultMode: z.literal(0o440),
      }),
    }),
  ])),
});

/** The objects of the file, in its order. */
const objectsSchema = z.tuple([
  z.strictObject({
    apiVersion: z.literal("v1"),
    kind: z.literal("ConfigMap"),
    metadata,
    data: z.strictObject({ "gateway.yaml": z.string() }),
  }),
  z.strictObject({
    apiVersion: z.literal("v1"),
    kind: z.literal("Secret"),
    metadata,
    type: z.literal("Opaque"),
    stringData: z.record(z.string().regex(/^[-._a-zA-Z0-9]+$/), z.string()),
  }),
  z.strictObject({
    apiVersion: z.literal("apps/v1"),
    kind: z.literal("Deployment"),
    metadata,
    spec: z.strictObject({
      replicas: z.int().min(2),
      selector,
      strategy: z.strictObject({
        type: z.literal("RollingUpdate"),
        rollingUpdate: z.strictObject({
          maxUnavailable: z.literal(0),
          maxSurge: z.int().min(1),
        }),
      }),
      template: z.strictObject({
        metadata: z.strictObject({ labels }),
        spec: pod,
      }),
    }),
  }),
  z.strictObject({
    apiVersion: z.literal("v1"),
    kind: z.literal("Service"),
    metadata,
    spec: z.strictObject({
      selector: labels,
      ports: z.array(
        z.strictObject({ name: portName, port, targetPort: portName }),
      ),
    }),
  }),
  z.strictObject({
    apiVersion: z.literal("policy/v1"),
    kind: z.literal("PodDisruptionBudget"),
    metadata,
    spec: z.strictObject({ minAvailable: z.int().min(1), selector }),
  }),
]);

const text = await Deno.readTextFile(
  new URL("../../packaging/kubernetes.yaml", import.meta.url),
);
const [configMap, secret, deployment, service, budget] = objectsSchema.parse(
  text.split(/^---$/m).map((one) => parseYaml(one)),
);
const { spec } = deployment.spec.template;
const [gateway] = spec.containers;

/** Loads the configuration of the file, with the files of its Secret at their mounts. */
async function config() {
  const files = new Map<string, string>(spec.volumes.flatMap((volume) => {
    if (!("secret" in volume)) return [];
    assert.equal(volume.secret.secretName, secret.metadata.name);
    const mount = gateway.volumeMounts.find(({ name }) => name === volume.name);
    return Object.entries(secret.stringData)
      .map(([name, key]) => [`${mount?.mountPath}/${name}`, key] as const);
  }));
  return configOf(
    await loadText(configMap.data["gateway.yaml"], {
      readFile: (path) => Promise.resolve(files.get(path) ?? `no ${path}`),
    }),
  );
}

Deno.test("the gateway accepts the configuration for Kubernetes, with its keys from files of the Secret", async () => {
  const { connections } = await config();
  const keys = Object.values(secret.stringData);
  assert.ok(keys.length > 0);
  for (const { auth } of connections) {
    assert.ok(auth.scheme !== "none" && keys.includes(auth.key));
  }
});

Deno.test("every volume is mounted, and every mount, port and selector has its target", async () => {
  assert.deepEqual(
    gateway.volumeMounts.map(({ name }) => name),
    spec.volumes.map(({ name }) => name),
  );
  const [first] = spec.volumes;
  assert.ok(first !== undefined && "configMap" in first);
  assert.equal(first.configMap.name, configMap.metadata.name);
  const { server } = await config();
  assert.ok(server.admin !== undefined && "port" in server.admin);
  assert.deepEqual(gateway.ports, [
    { name: "http", containerPort: server.port },
    { name: "metrics", containerPort: server.admin.port },
  ]);
  const names = gateway.ports.map(({ name }) => name);
  const { startupProbe, livenessProbe, readinessProbe } = gateway;
  for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
    assert.ok(names.includes(httpGet.port));
  }
  for (const { targetPort } of service.spec.ports) {
    assert.ok(names.includes(targetPort));
  }
  assert.equal(livenessProbe.httpGet.path, "/livez");
  assert.equal(readinessProbe.httpGet.path, "/readyz");
});

/** The time to close connections and the store after a drain, in seconds (docs/running.md#stopping). */
const CLOSING_SECONDS = 12;

Deno.test("a pod has time to finish its requests before Kubernetes kills it, and one replica always serves", async () => {
  const { server } = await config();
  const needed = gateway.lifecycle.preStop.sleep.seconds +
    server.drainMs / 1000 + CLOSING_SECONDS;
  assert.ok(spec.terminationGracePeriodSeconds > needed, `${needed}`);
  assert.ok(budget.spec.minAvailable < deployment.spec.replicas);
});

Deno.test("the pod accepts connections of other pods, and has twice the memory for request bodies", async () => {
  const { server } = await config();
  assert.deepEqual([server.host, server.admin?.host], ["0.0.0.0", "0.0.0.0"]);
  const [, gib = ""] = /^(\d+)Gi$/.exec(gateway.resources.limits.memory) ?? [];
  assert.ok(server.maxBodyMemoryBytes <= Number(gib) * 1024 ** 3 / 2);
  assert.ok(gateway.image.endsWith(`/model-gateway:${VERSION}`));
  assert.deepEqual(gateway.args, ["serve"]);
});

{{/* "true": many pods that share a store; empty: one with a disk. What cannot be meant is refused here. */}}
{{- define "keyturn.isCluster" -}}
{{- if and .Values.store .Values.storeSecret }}
{{- fail "store and storeSecret are both said: one address, in one place" }}
{{- end }}
{{- if or .Values.store .Values.storeSecret }}
{{- include "keyturn.refuseStore" . }}
{{- include "keyturn.refuseDisk" . }}
{{- include "keyturn.refuseSettings" . }}
{{- if and (include "keyturn.auth" .) (not .Values.cluster.tlsSecret) -}}
{{- fail "cluster.tlsSecret is empty: with auth and a store it names a Secret that has tls.crt, tls.key and ca.crt for the links between the pods; else what they tell each other of whoever asks could be read and changed on the way" }}
{{- end -}}
true
{{- else }}
{{- include "keyturn.refuseAlone" . }}
{{- end }}
{{- end }}

{{- define "keyturn.refuseStore" -}}
{{- $store := .Values.store }}
{{- if regexMatch "^rediss?://[^/]*:[^/]*@" $store }}
{{- fail "store has a password, which everybody could read in the release: put the whole address into a Secret, and name it in storeSecret" }}
{{- end }}
{{- with include "keyturn.storePort" . }}
{{- if or (lt (int .) 1) (gt (int .) 65535) }}
{{- fail (printf "store names the port %s; a port is from 1 to 65535" .) }}
{{- end }}
{{- end }}
{{- if and .Values.storeCaSecret (hasPrefix "redis://" $store) }}
{{- fail "storeCaSecret is said, but store is redis://, which has no TLS: rediss:// has" }}
{{- end }}
{{- end }}

{{/* The port that `store` says; empty: none. */}}
{{- define "keyturn.storePort" -}}
{{- regexFind ":[0-9]+(/[0-9]*)?$" .Values.store | regexFind "[0-9]+" }}
{{- end }}

{{/* Whoever says how large a disk is means one. Compared with the values file, which says it always. */}}
{{- define "keyturn.refuseDisk" -}}
{{- $disk := .Values.persistence }}
{{- $said := list }}
{{- if $disk.enabled }}{{ $said = append $said "enabled" }}{{ end }}
{{- if ne $disk.size "8Gi" }}{{ $said = append $said "size" }}{{ end }}
{{- if ne $disk.accessMode "ReadWriteOncePod" }}{{ $said = append $said "accessMode" }}{{ end }}
{{- if $disk.storageClass }}{{ $said = append $said "storageClass" }}{{ end }}
{{- if $disk.existingClaim }}{{ $said = append $said "existingClaim" }}{{ end }}
{{- if $disk.annotations }}{{ $said = append $said "annotations" }}{{ end }}
{{- if ne $disk.whenDeleted "Retain" }}{{ $said = append $said "whenDeleted" }}{{ end }}
{{- with $said }}
{{- fail (printf "persistence.%s is said, and a store too: what is kept is in the store, and no pod has a disk" (first .)) }}
{{- end }}
{{- end }}

{{/* What every pod would refuse at its start. */}}
{{- define "keyturn.refuseSettings" -}}
{{- $session := include "keyturn.milliseconds" .Values.cluster.session | int64 }}
{{- if or (lt $session 1000) (gt $session 60000) }}
{{- fail (printf "cluster.session is %s; it is from 1s to 1m" .Values.cluster.session) }}
{{- end }}
{{- $config := .Values.config }}
{{- if gt (include "keyturn.milliseconds" ($config.startup_hold | default "0s") | int64) 0 }}
{{- fail (printf "config.startup_hold is %s, and a store is said: its turns are kept, and none has to be waited for; leave it out" $config.startup_hold) }}
{{- end }}
{{- range $name, $policy := merge (dict "" $config.default) ($config.queues | default dict) }}
{{- $place := empty $name | ternary "config.default" (printf "config.queues.%s" $name) }}
{{- if and $policy (hasKey $policy "durable") (not $policy.durable) }}
{{- fail (printf "%s.durable is false, and a store is said: in a cluster every queue is durable; leave it out" $place) }}
{{- end }}
{{- if and $policy (eq (get $policy "durability" | toString) "memory") }}
{{- fail (printf "%s.durability is memory, and a store is said: in a cluster everything is stored; on_flush, interval or count" $place) }}
{{- end }}
{{- end }}
{{- end }}

{{/* What only a cluster has, of one that is none. */}}
{{- define "keyturn.refuseAlone" -}}
{{- if gt (int .Values.replicaCount) 1 }}
{{- fail (printf "replicaCount is %d; without store (or storeSecret) only 1 is allowed: two would be two coordinators that know nothing of each other" (int .Values.replicaCount)) }}
{{- end }}
{{- if .Values.cluster.tlsSecret }}
{{- fail "cluster.tlsSecret is said, and neither store nor storeSecret: there are no links between sidecars" }}
{{- end }}
{{- if .Values.storeCaSecret }}
{{- fail "storeCaSecret is said, and neither store nor storeSecret: there is no store to know" }}
{{- end }}
{{- if .Values.networkPolicy.store }}
{{- fail "networkPolicy.store is said, and neither store nor storeSecret: the pod calls nobody" }}
{{- end }}
{{- end }}

{{/* Variables of a member of a cluster. */}}
{{- define "keyturn.clusterEnv" -}}
- name: KEYTURN_STORE
{{- if .Values.storeSecret }}
  valueFrom:
    secretKeyRef:
      name: {{ .Values.storeSecret | quote }}
      key: store
{{- else }}
  value: {{ .Values.store | quote }}
{{- end }}
{{- if .Values.storeCaSecret }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/keyturn-store-ca/ca.crt
{{- end }}
- name: KEYTURN_CLUSTER_NAME
  value: {{ .Values.cluster.name | quote }}
- name: KEYTURN_CLUSTER_PARTITIONS
  value: {{ .Values.cluster.partitions | toString | quote }}
- name: KEYTURN_CLUSTER_SESSION
  value: {{ .Values.cluster.session | quote }}
- name: KEYTURN_CLUSTER_REPLICAS
  value: {{ .Values.cluster.replicas | toString | quote }}
- name: KEYTURN_CLUSTER_PEER_LISTEN
  value: 0.0.0.0:7423
# Not left to the route to the store, which may lead through another network.
- name: KEYTURN_CLUSTER_ADVERTISE
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
{{- if .Values.cluster.tlsSecret }}
- name: KEYTURN_CLUSTER_TLS_CERT
  value: /etc/keyturn-peer-tls/tls.crt
- name: KEYTURN_CLUSTER_TLS_KEY
  value: /etc/keyturn-peer-tls/tls.key
- name: KEYTURN_CLUSTER_TLS_CA
  value: /etc/keyturn-peer-tls/ca.crt
{{- end }}
{{- end }}

{{/* Over nodes and zones, as far as there is room: one that dies takes few homes with it. */}}
{{- define "keyturn.spread" -}}
topologySpreadConstraints:
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    # Of one version: else the pods that are about to end would count.
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "keyturn.selectorLabels" $ | nindent 8 }}
{{- end }}
{{- end }}

{{/*
How many pods may be evicted at once; empty: there is no budget. One pod is either kept where it is or not: a budget for it can
only forbid evictions.
*/}}
{{- define "keyturn.mayBeEvicted" -}}
{{- $budget := .Values.podDisruptionBudget }}
{{- $isMany := gt (int .Values.replicaCount) 1 }}
{{- $isWanted := kindIs "invalid" $budget.enabled | ternary $isMany $budget.enabled }}
{{- $own := $budget.maxUnavailable }}
{{- if $isWanted }}
{{- kindIs "invalid" $own | ternary (ternary 1 0 $isMany) $own }}
{{- else if not (kindIs "invalid" $own) }}
{{- fail "podDisruptionBudget.maxUnavailable is said, but there is no budget: podDisruptionBudget.enabled is false, or unset for one pod" }}
{{- end }}
{{- end }}

{{/* What no policy would be made of. */}}
{{- define "keyturn.refuseEgress" -}}
{{- $policy := .Values.networkPolicy }}
{{- if and $policy.store (not $policy.enabled) }}
{{- fail "networkPolicy.store is said, and networkPolicy.enabled is false: nothing would be kept in" }}
{{- end }}
{{- if and (or $policy.dns $policy.storePort) (not $policy.store) }}
{{- fail (printf "networkPolicy.%s is said, and networkPolicy.store is empty: only with it is there a limit to whom pods may call" (empty $policy.dns | ternary "storePort" "dns")) }}
{{- end }}
{{- end }}

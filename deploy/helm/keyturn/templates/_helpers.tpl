{{/*
One name for each release: none is the name of another release, and Kubernetes takes all. What is cut off or changed is
told apart by a hash. 52, because a StatefulSet's name and 11 more stand in a label of 63.
*/}}
{{- define "keyturn.fullname" -}}
{{- $wanted := .Values.fullnameOverride | default (eq .Release.Name "keyturn" | ternary "keyturn" (printf "%s-keyturn" .Release.Name)) }}
{{- $name := regexReplaceAll "[^a-z0-9-]" (lower $wanted) "-" }}
{{- if not (regexMatch "^[a-z]" $name) }}{{ $name = printf "k%s" $name }}{{ end }}
{{- if or (ne $name $wanted) (gt (len $name) 52) (hasSuffix "-" $name) }}
{{- $name = printf "%s-%s" ($name | trunc 43 | trimSuffix "-") (sha256sum $wanted | trunc 8) }}
{{- end }}
{{- $name }}
{{- end }}

{{- define "keyturn.selectorLabels" -}}
app.kubernetes.io/name: keyturn
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "keyturn.labels" -}}
{{ include "keyturn.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- end }}

{{/* The labels of the chart and those that somebody wants besides: (list . MORE). No label is there twice. */}}
{{- define "keyturn.labelsAnd" -}}
{{- mergeOverwrite (dict) (index . 1) (include "keyturn.labels" (index . 0) | fromYaml) | toYaml }}
{{- end }}

{{- define "keyturn.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "keyturn.fullname" .) "default") }}
{{- end }}

{{- define "keyturn.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* Unset: where there is no store. */}}
{{- define "keyturn.hasDisk" -}}
{{- if and (ne (toString .Values.persistence.enabled) "false") (not (include "keyturn.isCluster" .)) }}true{{ end }}
{{- end }}

{{/* The settings file: what the values say, and durable queues when there is a disk for them. */}}
{{- define "keyturn.settings" -}}
{{- $default := .Values.config.default | default dict }}
{{- $isKept := or (include "keyturn.hasDisk" .) (include "keyturn.isCluster" .) }}
{{- if and $isKept (not (hasKey $default "durable")) }}
{{- $default = merge (dict "durable" true) $default }}
{{- end }}
{{- if not $isKept }}
{{- range $name, $queue := merge (dict "" $default) (.Values.config.queues | default dict) }}
{{- if and $queue (get $queue "durable") }}
{{- fail (printf "durable is true for %s in config, and persistence.enabled is false: there is no disk to keep it on" ($name | default "default")) }}
{{- end }}
{{- end }}
{{- end }}
{{- $settings := omit .Values.config "default" }}
{{- if $default }}{{ $settings = merge (dict "default" $default) $settings }}{{ end }}
{{- with include "keyturn.auth" . }}{{ $settings = merge (dict "auth" (fromYaml .)) $settings }}{{ end }}
{{- toYaml $settings }}
{{- end }}

{{/* Milliseconds of a duration as the settings have it: 250ms, 20s, 5m, 24h. */}}
{{- define "keyturn.milliseconds" -}}
{{- $unit := regexFind "[a-z]+$" . }}
{{- mulf (regexFind "^[0-9.]+" . | float64) (get (dict "ms" 1.0 "s" 1e3 "m" 6e4 "h" 36e5) $unit) | ceil | int64 }}
{{- end }}

{{/* Whole seconds of it, or one more. */}}
{{- define "keyturn.seconds" -}}
{{- divf (include "keyturn.milliseconds" . | float64) 1e3 | ceil | int64 }}
{{- end }}

{{/* The name of the Secret; empty: no TLS. */}}
{{- define "keyturn.tlsSecret" -}}
{{- if and .Values.tls.clientCa (not .Values.tls.existingSecret) }}
{{- fail "tls.clientCa is true and tls.existingSecret is empty: name the Secret that has tls.crt, tls.key and ca.crt" }}
{{- end }}
{{- .Values.tls.existingSecret }}
{{- end }}

{{/* Who asks, as the settings file says it; empty: nobody is asked. What the sidecar would refuse at its start is refused here. */}}
{{- define "keyturn.auth" -}}
{{- $auth := .Values.auth }}
{{- $isBearer := or $auth.tokensSecret $auth.jwt }}
{{- if or $isBearer $auth.certificates }}
{{- if .Values.existingConfigMap }}
{{- fail "auth is said, and existingConfigMap too: the chart writes auth into the settings of config; leave existingConfigMap out" }}
{{- end }}
{{- if and $isBearer (not .Values.tls.existingSecret) }}
{{- fail (printf "%s needs tls.existingSecret: a token that others can read on the way is theirs, too" (empty $auth.tokensSecret | ternary "auth.jwt" "auth.tokensSecret")) }}
{{- end }}
{{- if and $auth.certificates (not .Values.tls.clientCa) }}
{{- fail "auth.certificates needs tls.clientCa: without it no client shows a certificate" }}
{{- end }}
{{- if not $auth.rights }}
{{- fail "auth.rights is empty: nobody may do anything; name who may do what" }}
{{- end }}
{{- $said := dict "rights" $auth.rights }}
{{- with $auth.tokensSecret }}{{ $said = set $said "tokens" "/etc/keyturn-tokens/tokens.yaml" }}{{ end }}
{{- with $auth.certificates }}{{ $said = set $said "certificates" . }}{{ end }}
{{- with $auth.jwt }}{{ $said = set $said "jwt" (merge (dict "keys" "/etc/keyturn-keys/jwks.json") (omit . "keysSecret")) }}{{ end }}
{{- with $auth.perClient }}{{ $said = set $said "per_client" . }}{{ end }}
{{- toYaml $said }}
{{- else if or $auth.rights $auth.perClient }}
{{- fail "auth.rights or auth.perClient is said, and nobody could show who they are: name auth.tokensSecret, auth.certificates or auth.jwt" }}
{{- end }}
{{- end }}

{{/*
What the chart says itself cannot be said a second time; what it reckons with belongs into config; what would make other pods than
those that it describes, into none.
*/}}
{{- define "keyturn.extraEnv" -}}
{{- $hasCa := .Values.storeCaSecret }}
{{- range .Values.extraEnv }}
{{- if or (regexMatch "^KEYTURN_(CONFIG|LISTEN|HTTP_LISTEN|DATA_DIR|STORE|INSECURE|TLS_.*|CLUSTER_(NAME|PARTITIONS|SESSION|REPLICAS|PEER_LISTEN|ADVERTISE|TLS_.*))$" .name) (and $hasCa (eq .name "NODE_EXTRA_CA_CERTS")) }}
{{- fail (printf "extraEnv: %s is set by the chart (persistence, store, storeCaSecret, cluster, tls, auth, config)" .name) }}
{{- end }}
{{- if regexMatch "^KEYTURN_(DRAIN_TIMEOUT|STARTUP_HOLD)$" .name }}
{{- fail (printf "extraEnv: %s belongs into config: the chart reckons with it" .name) }}
{{- end }}
{{- if regexMatch "^KEYTURN_(CLUSTER_WEIGHT|REGISTRY)$" .name }}
{{- fail (printf "extraEnv: %s is not for these pods: all are members of one weight, and membership is kept in the store" .name) }}
{{- end }}
{{- end }}
{{- toYaml .Values.extraEnv }}
{{- end }}

{{/* A drain that is cut off loses what it waits for. A member of a cluster hands its partitions over, too. */}}
{{- define "keyturn.gracePeriod" -}}
{{- $drain := .Values.config.drain_timeout | default "20s" }}
{{- $least := add (include "keyturn.seconds" $drain | int) (empty (include "keyturn.isCluster" .) | ternary 5 15) }}
{{- $own := .Values.terminationGracePeriodSeconds }}
{{- if kindIs "invalid" $own }}{{ $least }}
{{- else if and (not .Values.existingConfigMap) (lt ($own | int64) $least) }}
{{- fail (printf "terminationGracePeriodSeconds is %d; with config.drain_timeout %s it must be %d or more, or null" ($own | int64) $drain $least) }}
{{- else }}{{ $own | int64 }}
{{- end }}
{{- end }}

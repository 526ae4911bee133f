{{/* The pod, of whatever form: with a disk of its own, or one of many in a cluster. */}}
{{- define "keyturn.podTemplate" -}}
metadata:
  labels:
    {{- include "keyturn.labelsAnd" (list . .Values.podLabels) | nindent 4 }}
  annotations:
    kubectl.kubernetes.io/default-container: keyturn
    {{- if not .Values.existingConfigMap }}
    # Settings are read at the start: when they change the pod does.
    checksum/settings: {{ include "keyturn.settings" . | sha256sum }}
    {{- end }}
    {{- with omit .Values.podAnnotations "kubectl.kubernetes.io/default-container" "checksum/settings" }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "keyturn.serviceAccountName" . | quote }}
  automountServiceAccountToken: false
  # Variables of Services would begin as settings do.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "keyturn.gracePeriod" . }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  containers:
    - name: keyturn
      image: {{ include "keyturn.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config, /etc/keyturn/keyturn.yaml]
      env:
        - name: KEYTURN_LISTEN
          value: 0.0.0.0:7420
        - name: KEYTURN_HTTP_LISTEN
          value: 0.0.0.0:7421
        {{- if include "keyturn.auth" . }}
        # The image serves strangers; this one does not.
        - name: KEYTURN_INSECURE
          value: "false"
        {{- end }}
        {{- if include "keyturn.hasDisk" . }}
        # Not the root of the volume, which is root's and may hold lost+found.
        - name: KEYTURN_DATA_DIR
          value: /var/lib/keyturn/data
        {{- end }}
        {{- if include "keyturn.isCluster" . }}
        {{- include "keyturn.clusterEnv" . | nindent 8 }}
        {{- end }}
        {{- if include "keyturn.tlsSecret" . }}
        - name: KEYTURN_TLS_CERT
          value: /etc/keyturn-tls/tls.crt
        - name: KEYTURN_TLS_KEY
          value: /etc/keyturn-tls/tls.key
        {{- if .Values.tls.clientCa }}
        - name: KEYTURN_TLS_CLIENT_CA
          value: /etc/keyturn-tls/ca.crt
        {{- end }}
        {{- end }}
        {{- if .Values.extraEnv }}
        {{- include "keyturn.extraEnv" . | nindent 8 }}
        {{- end }}
      ports:
        - name: grpc
          containerPort: 7420
          protocol: TCP
        - name: http
          containerPort: 7421
          protocol: TCP
        {{- if include "keyturn.isCluster" . }}
        - name: peers
          containerPort: 7423
          protocol: TCP
        {{- end }}
      # It lives while it reads its data directory, however long that takes.
      startupProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 1
        timeoutSeconds: 5
        failureThreshold: 120
      livenessProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: settings
          mountPath: /etc/keyturn
          readOnly: true
        {{- if include "keyturn.tlsSecret" . }}
        - name: tls
          mountPath: /etc/keyturn-tls
          readOnly: true
        {{- end }}
        {{- if and (include "keyturn.isCluster" .) .Values.cluster.tlsSecret }}
        - name: peer-tls
          mountPath: /etc/keyturn-peer-tls
          readOnly: true
        {{- end }}
        {{- if .Values.storeCaSecret }}
        - name: store-ca
          mountPath: /etc/keyturn-store-ca
          readOnly: true
        {{- end }}
        {{- if .Values.auth.tokensSecret }}
        - name: tokens
          mountPath: /etc/keyturn-tokens
          readOnly: true
        {{- end }}
        {{- if .Values.auth.jwt }}
        - name: keys
          mountPath: /etc/keyturn-keys
          readOnly: true
        {{- end }}
        {{- if include "keyturn.hasDisk" . }}
        - name: data
          mountPath: /var/lib/keyturn
        {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if include "keyturn.isCluster" . }}
  {{- include "keyturn.spread" . | nindent 2 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumes:
    - name: settings
      configMap:
        name: {{ .Values.existingConfigMap | default (include "keyturn.fullname" .) | quote }}
    {{- if include "keyturn.tlsSecret" . }}
    - name: tls
      secret:
        secretName: {{ include "keyturn.tlsSecret" . | quote }}
        # 0440
        defaultMode: 288
    {{- end }}
    {{- if and (include "keyturn.isCluster" .) .Values.cluster.tlsSecret }}
    - name: peer-tls
      secret:
        secretName: {{ .Values.cluster.tlsSecret | quote }}
        # 0440
        defaultMode: 288
    {{- end }}
    {{- with .Values.storeCaSecret }}
    - name: store-ca
      secret:
        secretName: {{ . | quote }}
        # 0440
        defaultMode: 288
        items:
          - key: ca.crt
            path: ca.crt
    {{- end }}
    {{- with .Values.auth.tokensSecret }}
    - name: tokens
      secret:
        secretName: {{ . | quote }}
        # 0440
        defaultMode: 288
        items:
          - key: tokens.yaml
            path: tokens.yaml
    {{- end }}
    {{- with .Values.auth.jwt.keysSecret }}
    - name: keys
      secret:
        secretName: {{ . | quote }}
        # 0440
        defaultMode: 288
        items:
          - key: jwks.json
            path: jwks.json
    {{- end }}
    {{- if and (include "keyturn.hasDisk" .) .Values.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ .Values.persistence.existingClaim | quote }}
    {{- end }}
{{- end }}

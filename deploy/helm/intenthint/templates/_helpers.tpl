{{- /* The image, by digest where one is given. */ -}}
{{- define "intenthint.image" -}}
{{- $i := .Values.image -}}
{{ $i.repository }}{{ if $i.digest }}@{{ $i.digest }}{{ else }}:{{ default .Chart.AppVersion $i.tag }}{{ end }}
{{- end -}}

{{- /* Settings of the operator's, as entries of an env list. */ -}}
{{- define "intenthint.settings" -}}
{{- range $i, $name := keys .Values.settings | sortAlpha }}
{{- if $i }}{{ "\n" }}{{ end -}}
- { name: {{ $name }}, value: {{ get $.Values.settings $name | quote }} }
{{- end }}
{{- end -}}

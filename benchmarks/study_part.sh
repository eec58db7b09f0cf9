#!/usr/bin/env bash
# A part of the study on one GPU: as many tasks as fit into SECONDS, stage after stage. Run it again to go on.
#   benchmarks/study_part.sh DATA_FOLDER RESULTS_FOLDER SECONDS
# RESULTS_FOLDER holds study.parquet and variants.parquet, which grow; tasks in them are not run again.
set -u
data=$1 results=$2 end=$((SECONDS + $3))
: "${STUDY_SUITE:=folder60}" "${STUDY_REAL:=real}" "${STUDY_SEEDS:=0 1 2 3 4 5 6 7 8 9}" "${STUDY_PROTOCOL:=paper2k}"
: "${STUDY_PROCESSES:=16}" "${STUDY_SCREEN:=small+descent}" "${PYTHON:=python3}"
: "${STUDY_TWELVE:=communities_crime,elevators,pol,wind,space_ga,california_housing,abalone,concrete,cpu_act,miami_housing,skillcraft,air_quality}"
# tables of folder60 where indicators of one text column are split between X and A if they are chosen one by one
: "${STUDY_TEXT:=acs_gov_census,adult_hours,ames_housing,college_distance,cps_85_wages,garment_productivity,hotel_rates,moneyball,nmes1988,seoul_bike,stackoverflow_salary,wage_islr}"
: "${STUDY_VARIANT_SEEDS:=0 1 2}" "${STUDY_METHODS:=paper,ours,references}" "${STUDY_VARIANTS:=variants}" "${STUDY_SCREENED:=paper,references}"
mkdir -p "$results"
# where NVIDIA's Multi-Process Service is installed, processes share the GPU at the same time instead of in turns
if command -v nvidia-cuda-mps-control > /dev/null && nvidia-cuda-mps-control -d; then
  trap 'echo quit | nvidia-cuda-mps-control' EXIT
fi
runs=$(mktemp -d)

study() { "$PYTHON" -m fairlevel_study "$@"; }

# stage FILE PROTOCOL SUITE SEED METHODS
stage() {
  local left=$((end - SECONDS)) file=$results/$1.parquet out=$runs/$1-$2
  [ "$left" -gt 30 ] || return 0
  echo "== $2, $3, seed $4, $5: $left s left"
  timeout -k 10 "$left" "$PYTHON" -m fairlevel_study run --suite "$3" --seeds "$4" \
    --methods "$5" --protocol "$2" --data-dir "$data" --kept "$file" --processes "$STUDY_PROCESSES" --out "$out"
  echo "   took $((left - end + SECONDS)) s"
  if [ -d "$out/rows" ]; then study keep --out "$out" --into "$file"; fi
}

for seed in $STUDY_SEEDS; do
  stage study "$STUDY_PROTOCOL" "$STUDY_SUITE" "$seed" "$STUDY_METHODS"
  stage study "$STUDY_PROTOCOL" "$STUDY_REAL" "$seed" "$STUDY_METHODS"
done
for seed in $STUDY_VARIANT_SEEDS; do
  stage study "$STUDY_PROTOCOL" "$STUDY_TWELVE" "$seed" "$STUDY_VARIANTS"
  for variant in "" +short_diagnostic +adam_diagnostic +listed_weights +adam +stopped; do
    stage variants "$STUDY_SCREEN$variant" "$STUDY_TWELVE" "$seed" "$STUDY_SCREENED"
  done
  for variant in "" +apart; do stage variants "$STUDY_SCREEN$variant" "$STUDY_TEXT" "$seed" "$STUDY_SCREENED"; done
done
ls -l "$results"
